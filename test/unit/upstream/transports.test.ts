import { beforeEach, describe, expect, it } from 'vitest';
import type { Spreading } from '../../../src/upstream/balancing/index.ts';
import {
  type ConnectionOptions,
  type EndpointOptions,
  type Transport,
  Transports,
} from '../../../src/upstream/index.ts';

const options: ConnectionOptions = {
  protocol: 'http1',
  ownHosts: false,
  http2: { maxConnections: 1, maxStreams: 1, pingIntervalMs: 1, pingTimeoutMs: 1 },
  connectTimeoutMs: 1,
  keepAliveMs: 1,
  maxAgeMs: 1,
  maxConnections: 1,
  maxHeadBytes: 1,
  tls: null,
};

/** A transport without a network: it closes when the test says so. */
class Line implements Transport {
  connections = 1;
  closing = false;
  endpoints: readonly EndpointOptions[] = [];
  readonly gone = Promise.withResolvers<void>();

  before: Transport | null = null;

  readonly state = { endpoints: [], allOut: false, lookupFault: null };

  use({ endpoints }: Spreading, before: Transport | null): void {
    this.endpoints = endpoints;
    this.before = before;
  }

  send(): never {
    throw new Error('nothing is sent here');
  }

  close(): Promise<void> {
    this.closing = true;
    return this.gone.promise;
  }

  async end(): Promise<void> {
    this.connections = 0;
    this.gone.resolve();
    await this.gone.promise;
  }
}

let lines: Line[];
let transports: Transports;

beforeEach(() => {
  lines = [];
  transports = new Transports(() => {
    const line = new Line();
    lines.push(line);
    return line;
  });
});

/** Takes upstreams into use, whose connections may be of a certain age. */
const use = (...upstreams: (readonly [name: string, maxAgeMs: number, port?: number])[]) => {
  const planned = transports.plan(
    upstreams.map(([name, maxAgeMs, port = 80]) => ({
      ...{ name, options: { ...options, maxAgeMs }, balance: 'least_requests', health: null },
      endpoints: [{ host: 'api', port, weight: 1, lookup: 'system' }],
      revision: `${maxAgeMs} ${port}`,
    })),
  );
  transports.use(planned);
  return planned;
};

describe('the transports', () => {
  it('of upstreams that did not change stay', () => {
    const before = use(['a', 1], ['b', 2]);
    const after = use(['b', 2], ['a', 1]);
    expect(after.get('a')?.part.transport).toBe(before.get('a')?.part.transport);
    expect(lines).toHaveLength(2);
    expect(lines.map(({ closing }) => closing)).toEqual([false, false]);
  });

  it('of upstreams with other addresses hand over to the next one', () => {
    const before = use(['a', 1, 8_001]);
    const after = use(['a', 1, 8_002]);
    expect(after.get('a')?.part.transport).toBe(lines[1]);
    expect(lines[1]?.endpoints.map(({ port }) => port)).toEqual([8_002]);
    expect(lines[1]?.before).toBe(before.get('a')?.part.transport);
    expect(lines.map(({ closing }) => closing)).toEqual([false, false]);
  });

  it('of upstreams that are reached in another way hand over nothing', () => {
    use(['a', 1]);
    use(['a', 2]);
    expect(lines.map(({ before, closing }) => [before, closing])).toEqual([
      [null, true],
      [null, false],
    ]);
  });

  it('of those that changed or are gone drain, and are counted until then', async () => {
    use(['a', 1], ['b', 2]);
    use(['a', 3]);
    expect(lines.map(({ closing }) => closing)).toEqual([true, true, false]);
    expect([...transports.connections]).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    await lines[0]?.end();
    await lines[1]?.end();
    expect([...transports.connections]).toEqual([['a', 1]]);
  });

  it('are not touched by what is only planned', () => {
    use(['a', 1]);
    transports.plan([]);
    expect(lines.map(({ closing }) => closing)).toEqual([false]);
    expect([...transports.connections]).toEqual([['a', 1]]);
  });

  it('are closed when all have ended, those that drain too', async () => {
    use(['a', 1]);
    use(['a', 2]);
    let closed = false;
    const closing = transports.close().then(() => {
      closed = true;
    });
    await lines[1]?.end();
    expect(closed).toBe(false);
    await lines[0]?.end();
    await closing;
    expect(lines.map(line => line.closing)).toEqual([true, true]);
  });
});
