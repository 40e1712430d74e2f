import { describe, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { waitFor } from '../support/wait.ts';
import { Account } from './account.ts';
import { expectAtRest, type Fault, underFault } from './fault.ts';
import { Load } from './load.ts';
import { killed, late, type Relay, startRelay, stopped } from './relay.ts';
import { startService } from './service.ts';
import { type FaultName, tell } from './table.ts';

const TIMEOUTS = { connect: '500ms', first_byte: '500ms', idle: '500ms' };
/** Connections are cut behind each of so many bytes: more than the frames before an answer, its head and its body have. */
const CUTS = 400;

interface Front {
  readonly relay: Relay;
  readonly gateway: GatewayProcess;
  readonly load: Load;
}

/** A gateway under load before a service, which is reached by a relay; and directly as well if there are two ways. */
async function front(ways: 1 | 2, protocol: 'http1' | 'h2' = 'http1'): Promise<Front> {
  const account = new Account();
  const port = await startService(account, protocol === 'h2');
  const relay = await startRelay(port);
  const urls = [relay.port, port].slice(0, ways).map(each => `http://127.0.0.1:${each}`);
  const api = { url: undefined, urls, protocol, timeouts: TIMEOUTS, max_requests_per_caller: '100%' };
  const config = { log: { level: 'info', access: false } };
  const gateway = await startGatewayProcess({ upstreamPort: 0, api, config }, { h2c: true });
  return { relay, gateway, load: new Load(account, [gateway.port]) };
}

async function tried(name: FaultName, { load, gateway }: Front, fault: Fault): Promise<void> {
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
  test.each<[FaultName, (relay: Relay) => Fault, 'http1' | 'h2']>([
    ['A service is killed, and started again', killed, 'http1'],
    ['A service is stopped, and goes on', stopped, 'http1'],
    ['A service answers later than `first_byte`', late, 'http1'],
    ['A service dies behind each byte of its answers', cut, 'http1'],
    ['A service over HTTP/2 is killed, and started again', killed, 'h2'],
    ['A service over HTTP/2 is stopped, and goes on', stopped, 'h2'],
    ['A service over HTTP/2 answers later than `first_byte`', late, 'h2'],
    ['A service over HTTP/2 dies behind each byte it sends', cut, 'h2'],
  ])('%s', async (name, trouble, protocol) => {
    const parts = await front(1, protocol);
    const isNoticed = () => parts.gateway.output.includes('"type":"fault"');
    await tried(name, parts, { isNoticed, mayEnd: ['502', '504', 'cut'], ...trouble(parts.relay) });
  });
});

describe('one of two addresses of a service', () => {
  test.each<[FaultName, (relay: Relay) => Fault]>([
    ['One of two addresses is killed, and started again', killed],
    ['One of two addresses is stopped, and goes on', stopped],
    [
      'One of two addresses dies behind each byte of its answers',
      relay => ({ ...cut(relay), meanwhile: async () => {} }),
    ],
  ])('%s', async (name, trouble) => {
    const parts = await front(2);
    const isNoticed = () => parts.gateway.output.includes('an endpoint gets no requests for a while');
    await tried(name, parts, { isNoticed, mayEnd: ['502', '504', 'cut'], ...trouble(parts.relay) });
  });
});
