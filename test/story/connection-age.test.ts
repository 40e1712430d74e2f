import { once } from 'node:events';
import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { connectFrames, headers, request } from '../support/http2-frames.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { openSocket, startWsServer } from '../support/web-sockets.ts';
import { header, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** Longer than the age below, with its tenth and the time between two looks. */
const OLD_MS = 1_700;

async function front() {
  const time = new FrozenClock(Date.now());
  const told = Promise.withResolvers<void>();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target === '/slow') await told.promise;
    await exchange.answer(200, [], 'whole');
  });
  const config = { listen: H2C, timeouts: { max_connection_age: '1s' } };
  const gateway = await startGateway({ upstreamPort: upstream.port, config, clock: time });
  return { upstream, gateway, time, finish: told.resolve };
}

test('an old HTTP/1.1 connection serves one more request, whose response announces the close', async () => {
  const { gateway, time } = await front();
  const client = await gateway.connect();
  expect(header(await client.ask(head('GET /a')), 'connection')).toBe('keep-alive');
  time.advance(OLD_MS);
  const response = await client.ask(head('GET /b'));
  expect(response.body.toString()).toBe('whole');
  expect(header(response, 'connection')).toBe('close');
  expect(await client.ended()).toBe('close');
});

test('an old HTTP/2 connection gets a GOAWAY, and its requests in flight finish', async () => {
  const { upstream, gateway, time, finish } = await front();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/slow')));
  await waitFor('it is upstream', () => upstream.requests.length === 1);
  time.advance(OLD_MS);
  expect(await client.goaway()).toBe(constants.NGHTTP2_NO_ERROR);
  time.advance(OLD_MS);
  expect(client.closed).toBe(false);
  finish();
  expect(await client.status(1)).toBe(200);
});

test('a WebSocket is not cut off by its age', async () => {
  const time = new FrozenClock(Date.now());
  const upstream = await startWsServer({});
  upstream.echo();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    config: { timeouts: { max_connection_age: '1s' } },
    clock: time,
  });
  const socket = await openSocket(gateway, '/', {});
  time.advance(OLD_MS);
  socket.send('still here');
  expect(String((await once(socket, 'message'))[0])).toBe('still here');
});
