import { beforeEach, describe, expect, it } from 'vitest';
import { type Transport, Transports, type UpstreamOptions } from '../../../src/upstream/index.ts';

const options: UpstreamOptions = {
  host: 'api',
  port: 80,
  protocol: 'http1',
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
  readonly gone = Promise.withResolvers<void>();

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

const use = (...upstreams: (readonly [name: string, port: number])[]) => {
  const planned = transports.plan(upstreams.map(([name, port]) => ({ name, options: { ...options, port } })));
  transports.use(planned);
  return planned;
};

describe('the transports', () => {
  it('of upstreams that did not change stay', () => {
    const before = use(['a', 1], ['b', 2]);
    const after = use(['b', 2], ['a', 1]);
    expect(after.get('a')?.transport).toBe(before.get('a')?.transport);
    expect(lines).toHaveLength(2);
    expect(lines.map(({ closing }) => closing)).toEqual([false, false]);
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
