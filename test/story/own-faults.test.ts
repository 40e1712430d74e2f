import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { Exchange } from '../../src/gateway/exchange/exchange.ts';
import { ExchangeResponse } from '../../src/gateway/exchange/response.ts';
import { FaultLog } from '../../src/observe/log/access-log.ts';
import { Logging } from '../../src/observe/log/logging.ts';
import { StreamResponse } from '../../src/upstream/stream-response.ts';
import { LengthBody } from '../../src/wire/http1/message.ts';
import { BodyWriter } from '../../src/wire/http1/request-writer.ts';
import { ResponseReader } from '../../src/wire/http1/response-reader.ts';
import { FrameReader } from '../../src/wire/http2/frames/frame-reader.ts';
import { FrameFollower } from '../../src/wire/websocket/frame-flow.ts';
import { Tunnel } from '../../src/wire/websocket/tunnel.ts';
import { expectError } from '../support/error-object.ts';
import { type LocalGateway, startGateway, withoutWorkers } from '../support/gateway.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { agreement, handshake, masked, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head, withBody } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { closing, message, openSocket, startWsServer } from '../support/web-sockets.ts';
import { startUpstream } from '../support/wire/index.ts';

const LOG = { level: 'warn', access: false };
const LARGE = 'x'.repeat(100_000);

/** Breaks one method of the gateway, for its next call or for all of them. */
function breakMethod(where: object, name: string, calls: 'once' | 'always' = 'once'): void {
  const spy = vi.spyOn(where as Record<string, () => unknown>, name);
  const fault = () => {
    throw new TypeError('a bug in the gateway');
  };
  if (calls === 'once') spy.mockImplementationOnce(fault);
  else spy.mockImplementation(fault);
  onTestFinished(() => spy.mockRestore());
}

async function front(protocol: 'http1' | 'h2'): Promise<LocalGateway> {
  const isLarge = (path: string) => path.startsWith('/large');
  const upstream =
    protocol === 'http1'
      ? await startUpstream(async exchange => {
          await exchange.received();
          await exchange.answer(200, [], isLarge(exchange.request.target) ? LARGE : 'ok');
        })
      : await startH2Upstream(({ stream, headers }) => {
          const body = isLarge(String(headers[':path'])) ? LARGE : 'ok';
          stream.respond({ ':status': 200, 'content-length': body.length });
          stream.end(body);
        });
  const api = protocol === 'h2' ? { protocol } : {};
  return startGateway({ upstreamPort: upstream.port, api, config: { listen: H2C, log: LOG } });
}

/** The faults that were logged, each with whose they are. */
const faults = (gateway: LocalGateway) =>
  gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'fault');

async function expectOwnFault(gateway: LocalGateway): Promise<void> {
  await waitFor('the fault is logged', () => faults(gateway).length === 1);
  expect(faults(gateway)).toEqual([
    expect.objectContaining({
      side: 'gateway',
      // With the line of the code that threw.
      cause: expect.stringMatching(/^TypeError: a bug in the gateway\n +at .*own-faults/),
    }),
  ]);
  expect((await gateway.ask(head('GET /after'))).status).toBe(200);
  await waitFor('nothing is in flight', async () => {
    return [...(await gateway.metric('weir_requests_in_flight')).values()][0] === 0;
  });
}

const READERS = { http1: [ResponseReader, 'read'], h2: [StreamResponse, 'readSection'] } as const;

describe.each(['http1', 'h2'] as const)('with an upstream of %s, a fault of the gateway', protocol => {
  test('before the response is a 500 with a stack in the log, and not the upstream’s', async () => {
    const gateway = await front(protocol);
    breakMethod(ExchangeResponse.prototype, 'finish');
    expectError(await gateway.ask(head('GET /a')), 500, 13);
    await expectOwnFault(gateway);
  });

  test('at the head of a large response is one, too', async () => {
    const gateway = await front(protocol);
    breakMethod(ExchangeResponse.prototype, 'begin');
    expectError(await gateway.ask(head('GET /large')), 500, 13);
    await expectOwnFault(gateway);
  });

  test('inside the response breaks it off', async () => {
    const gateway = await front(protocol);
    breakMethod(ExchangeResponse.prototype, 'write');
    expect(await gateway.ask(head('GET /large'))).toMatchObject({ status: 200, complete: false });
    await expectOwnFault(gateway);
  });

  test('in the reading of what the upstream sends is not the upstream’s either', async () => {
    const gateway = await front(protocol);
    const [reader, name] = READERS[protocol];
    breakMethod(reader.prototype, name);
    expectError(await gateway.ask(head('GET /a')), 500, 13);
    await expectOwnFault(gateway);
  });

  test('that comes again while it is answered ends that client’s connection alone', async () => {
    const gateway = await front(protocol);
    breakMethod(ExchangeResponse.prototype, 'finish');
    breakMethod(Exchange.prototype, 'answerError');
    const client = await gateway.connect();
    await client.send(head('GET /a'));
    await client.ended();
    await expectOwnFault(gateway);
  });

  test('in a review of what is under way is a 500', async () => {
    const upstream = await startUpstream(exchange => exchange.gone);
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C, log: LOG } });
    const client = await gateway.connect();
    await client.send(head('GET /held'));
    await waitFor('it is upstream', () => upstream.requests.length === 1);
    const spy = vi.spyOn(Exchange.prototype, 'caller', 'get').mockImplementationOnce(() => {
      throw new TypeError('a bug in the gateway');
    });
    onTestFinished(() => spy.mockRestore());
    expectError(await inTime(gateway.time, client.answer()), 500, 13);
    expect(faults(gateway)).toEqual([expect.objectContaining({ side: 'gateway' })]);
  });
});

test('a fault in the reading of frames ends the connection to the upstream, and is the gateway’s', async () => {
  withoutWorkers();
  const gateway = await front('h2');
  expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  breakMethod(FrameReader.prototype, 'read');
  expectError(await gateway.ask(head('GET /a')), 500, 13);
  await expectOwnFault(gateway);
});

test.each([
  ['what writes it upstream', BodyWriter.prototype, 'chunk'],
  ['what reads it', LengthBody.prototype, 'decode'],
])('a body over HTTP/1.1 that fails in %s is a 500', async (_, where, name) => {
  const gateway = await front('http1');
  breakMethod(where, name);
  expectError(await gateway.ask(withBody('POST /a', 'hello')), 500, 13);
  await expectOwnFault(gateway);
});

test('a body over HTTP/2 that fails in what writes it upstream is a 500, and its connection stays', async () => {
  const gateway = await front('http1');
  const session = connectHttp2(gateway);
  breakMethod(BodyWriter.prototype, 'chunk');
  expect(await ask(session, { ':method': 'POST', ':path': '/a' }, 'hello')).toMatchObject({ status: 500 });
  expect(await ask(session, { ':path': '/b' })).toMatchObject({ status: 200 });
  await expectOwnFault(gateway);
});

describe('in the record of a request, a fault', () => {
  test('changes nothing for its client, and leaves nothing in flight', async () => {
    const gateway = await front('http1');
    const session = connectHttp2(gateway);
    const caller = vi.spyOn(Exchange.prototype, 'caller', 'get');
    onTestFinished(() => caller.mockRestore());
    caller.mockImplementation(() => {
      throw new TypeError('a bug in the gateway');
    });
    expect(await ask(session, { ':path': '/a' })).toMatchObject({ status: 200 });
    await waitFor('the fault is logged', () => faults(gateway).length === 1);
    caller.mockRestore();
    await expectOwnFault(gateway);
  });
});

describe('in an open WebSocket, a fault', () => {
  const closed = async (gateway: LocalGateway) =>
    gateway.time.advanceUntil('it is over', async () => {
      return (await gateway.metric('weir_websockets_open')).get('{upstream="api"}') === 0;
    });

  async function opened() {
    const upstream = (await startWsServer()).echo();
    const config = { listen: H2C, log: LOG };
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { websocket: true }, config });
    const client = await openSocket(gateway);
    const server = await upstream.first();
    client.send('before');
    expect(await message(client)).toBe('before');
    return { gateway, client, server };
  }

  async function expectContained(gateway: LocalGateway): Promise<void> {
    await closed(gateway);
    expect(faults(gateway)).toEqual([
      expect.objectContaining({
        side: 'gateway',
        cause: expect.stringMatching(/^TypeError: a bug in the gateway\n +at .*own-faults/),
      }),
    ]);
    expect((await openSocket(gateway)).readyState).toBe(1);
  }

  test('in the reading of frames closes it with 1011 at both ends', async () => {
    const { gateway, client, server } = await opened();
    breakMethod(FrameFollower.prototype, 'follow');
    const ends = Promise.all([closing(client), closing(server)]);
    client.send('broken');
    expect(await ends).toEqual([
      [1011, 'the gateway failed'],
      [1011, 'the gateway failed'],
    ]);
    await expectContained(gateway);
  });

  test.each<[string, string, (client: WebSocket) => void]>([
    ['in what hears of the end of its client', 'sourceEnded', client => client.terminate()],
    ['in a sweep', 'sweep', () => {}],
  ])('%s ends it', async (_, name, act) => {
    const { gateway, client } = await opened();
    breakMethod(Tunnel.prototype, name);
    act(client);
    await expectContained(gateway);
  });

  test('behind half a frame says no more to who has that half', async () => {
    const upstream = await startRawUpstream(({ socket }) => void socket.write(agreement(), 'latin1'));
    const config = { listen: H2C, log: LOG };
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { websocket: true }, config });
    const client = await gateway.connect();
    await client.send(handshake('/'));
    await waitFor('it is open', () => client.received.includes(' 101 '));
    const whole = masked('hello');
    await client.send(whole.subarray(0, 4));
    const [peer] = upstream.peers;
    await waitFor('half of it has passed', () => peer?.received.length === 4);
    breakMethod(FrameFollower.prototype, 'follow');
    await client.send(whole.subarray(4));
    await waitFor('the client is told', () => client.received.includes('the gateway failed'));
    await closed(gateway);
    expect(peer?.received).toEqual(whole.subarray(0, 4));
  });
});

describe('what observes the gateway and throws, always,', () => {
  test.each([
    ['finished', FaultLog.prototype],
    ['finished', Logging.prototype],
  ])('when it is told "%s", changes nothing for clients, and the log says so once', async (name, where) => {
    // Each worker says it once.
    withoutWorkers();
    breakMethod(where, name, 'always');
    const gateway = await front('http1');
    const session = connectHttp2(gateway);
    for (let i = 0; i < 3; i++) {
      expect((await gateway.ask(head('GET /a'))).status).toBe(200);
      expect((await gateway.ask(head('GET /a/../b'))).status).toBe(400);
      expect(await ask(session, { ':path': '/a' })).toMatchObject({ status: 200 });
    }
    const told = faults(gateway).filter(({ method }) => method === name);
    expect(told).toEqual([
      expect.objectContaining({ side: 'gateway', faults: 1, cause: expect.stringContaining('\n    at ') }),
    ]);
  });
});
