import { describe, expect, it } from 'vitest';
import { thisMachine } from '../../../src/core/index.ts';
import { openTransport, type Transport, type TransportCall } from '../../../src/upstream/index.ts';
import { type Endpoint, EndpointTransport } from '../../../src/upstream/pool.ts';
import { upstreamAt } from '../../support/upstream-options.ts';

const CALL: TransportCall = { resume() {}, abort() {} };

/** A pool without a network: it closes when the test says so. */
class PoolStub implements Transport {
  readonly gone = Promise.withResolvers<void>();
  readonly connections: number;
  sent = 0;
  closing = false;

  constructor(connections: number) {
    this.connections = connections;
  }

  send(): TransportCall {
    this.sent++;
    return CALL;
  }

  close(): Promise<void> {
    this.closing = true;
    return this.gone.promise;
  }
}

function endpoint(port: number, connections: number): Endpoint & { readonly pool: PoolStub } {
  return { address: { host: '127.0.0.1', port }, pool: new PoolStub(connections) };
}

describe('the transport to the endpoints of an upstream', () => {
  it('sends by the pool of its endpoint', () => {
    const only = endpoint(1, 0);
    const transport: Transport = new EndpointTransport([only]);
    transport.send({} as never, {} as never);
    expect(only.pool.sent).toBe(1);
  });

  it('counts the connections of all endpoints', () => {
    expect(new EndpointTransport([endpoint(1, 2), endpoint(2, 3)]).connections).toBe(5);
  });

  it('drains every endpoint, and has closed when all have', async () => {
    const [first, second] = [endpoint(1, 1), endpoint(2, 1)];
    let isClosed = false;
    const closed = new EndpointTransport([first, second]).close().then(() => {
      isClosed = true;
    });
    expect([first, second].map(({ pool }) => pool.closing)).toEqual([true, true]);
    first.pool.gone.resolve();
    await first.pool.gone.promise;
    expect(isClosed).toBe(false);
    second.pool.gone.resolve();
    await closed;
  });

  it('has one endpoint for the address of each configured upstream', () => {
    for (const protocol of ['http1', 'h2', 'grpc'] as const) {
      const transport = openTransport(upstreamAt(8_080, { protocol }), thisMachine);
      const { endpoints } = transport as EndpointTransport;
      expect(endpoints.map(({ address }) => address)).toEqual([{ host: '127.0.0.1', port: 8_080 }]);
      expect(endpoints[0].pool.connections).toBe(0);
    }
  });
});
