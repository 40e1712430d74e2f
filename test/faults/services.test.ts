import { describe, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { Account } from './account.ts';
import { expectAtRest, type Fault, underFault, waitFor } from './fault.ts';
import { Load } from './load.ts';
import { killed, late, type Relay, startRelay, stopped } from './relay.ts';
import { frontOf, startService } from './service.ts';
import { tell } from './table.ts';

const MAY_END = ['502', '504', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'broken', 'cut'] as const;
const TIMEOUTS = { connect: '500ms', first_byte: '500ms', idle: '500ms' };
/** Connections are cut behind each of so many bytes: more than the frames before an answer, its head and its body have. */
const CUTS = 400;

interface Front {
  readonly relay: Relay;
  readonly gateway: GatewayProcess;
  readonly load: Load;
}

/**
 * A gateway under load before a service, of which what is asked over this protocol is reached by a relay; and directly as well if
 * there are two ways. Over HTTP/1.1 these are requests and WebSockets, over HTTP/2 requests and calls.
 */
async function front(ways: 1 | 2, protocol: 'http1' | 'h2'): Promise<Front> {
  const account = new Account();
  const service = await startService(account);
  const relay = await startRelay(protocol === 'h2' ? service.http2 : service.http1);
  const relayed = { http1: relay.port, http2: relay.port };
  const config = {
    ...frontOf([relayed, service].slice(0, ways), { protocol, timeouts: TIMEOUTS }),
    log: { level: 'info', access: false },
  };
  const gateway = await startGatewayProcess({ upstreamPort: 0, config }, { h2c: true });
  const kinds = protocol === 'h2' ? { webSockets: 0, deadline: '500m' } : { calls: 0 };
  return { relay, gateway, load: new Load(account, [gateway.port], kinds) };
}

async function tried(name: string, { load, gateway }: Front, fault: Fault): Promise<void> {
  const counts = await underFault(load, fault);
  await expectAtRest(load, [gateway]);
  tell(name, counts, fault.mayEnd);
}

/** Cuts each connection one byte later than the one before, by a reset and properly in turn. */
function cut(relay: Relay): Fault {
  let cuts = 0;
  const begin = () => {
    relay.cut = () => {
      relay.resets = cuts % 2 === 1;
      return Math.floor(cuts++ / 2) % CUTS;
    };
    // Those that are open would last.
    relay.kill();
    return relay.listen();
  };
  const end = () => {
    relay.cut = () => null;
  };
  const meanwhile = () => waitFor('each byte was the last', () => cuts > 2 * CUTS);
  return { begin, meanwhile, end };
}

describe('a service that is alone', () => {
  test.each<[string, (relay: Relay) => Fault, 'http1' | 'h2']>([
    ['A service is killed, and started again', killed, 'http1'],
    ['A service is stopped, and goes on', stopped, 'http1'],
    ['A service answers later than `first_byte`', late, 'http1'],
    ['A service dies after each byte of its answers', cut, 'http1'],
    ['A service over HTTP/2 is killed, and started again', killed, 'h2'],
    ['A service over HTTP/2 is stopped, and goes on', stopped, 'h2'],
    ['A service over HTTP/2 answers later than `first_byte`', late, 'h2'],
    ['A service over HTTP/2 dies after each byte it sends', cut, 'h2'],
  ])('%s', async (name, trouble, protocol) => {
    const parts = await front(1, protocol);
    const isNoticed = () => parts.gateway.output.includes('"type":"fault"');
    await tried(name, parts, { isNoticed, mayEnd: MAY_END, ...trouble(parts.relay) });
  });
});

describe('one of two addresses of a service', () => {
  test.each<[string, (relay: Relay) => Fault]>([
    ['One of two addresses is killed, and started again', killed],
    ['One of two addresses is stopped, and goes on', stopped],
    [
      'One of two addresses dies after each byte of its answers',
      relay => ({ ...cut(relay), meanwhile: async () => {} }),
    ],
  ])('%s', async (name, trouble) => {
    const parts = await front(2, 'http1');
    const isNoticed = () => parts.gateway.output.includes('an endpoint gets no requests for a while');
    await tried(name, parts, { isNoticed, mayEnd: MAY_END, ...trouble(parts.relay) });
  });
});
