import { once } from 'node:events';
import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { connectFrames, headers, request } from '../support/http2-frames.ts';
import { head } from '../support/requests.ts';
import { sleep } from '../support/wait.ts';
import { openSocket, startWsServer } from '../support/web-sockets.ts';
import { header, startUpstream } from '../support/wire/index.ts';

/** Longer than the age below, with its tenth and the time between two looks. */
const OLD_MS = 1_700;

async function front() {
  const told = Promise.withResolvers<void>();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target === '/slow') await told.promise;
    await exchange.answer(200, [], 'whole');
  });
  const config = { listen: H2C, timeouts: { max_connection_age: '1s' } };
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  return { gateway, finish: told.resolve };
}

test('an old HTTP/1.1 connection serves one more request, whose response announces the close', async () => {
  const { gateway } = await front();
  const client = await gateway.connect();
  expect(header(await client.ask(head('GET /a')), 'connection')).toBe('keep-alive');
  await sleep(OLD_MS);
  const response = await client.ask(head('GET /b'));
  expect(response.body.toString()).toBe('whole');
  expect(header(response, 'connection')).toBe('close');
  expect(await client.ended()).toBe('close');
});

test('an old HTTP/2 connection gets a GOAWAY, and its requests in flight finish', async () => {
  const { gateway, finish } = await front();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/slow')));
  expect(await client.goaway()).toBe(constants.NGHTTP2_NO_ERROR);
  await sleep(OLD_MS);
  expect(client.closed).toBe(false);
  finish();
  expect(await client.status(1)).toBe(200);
});

test('a WebSocket is not cut off by its age', async () => {
  const upstream = await startWsServer({});
  upstream.echo();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    config: { timeouts: { max_connection_age: '1s' } },
  });
  const socket = await openSocket(gateway, '/', {});
  await sleep(OLD_MS);
  socket.send('still here');
  expect(String((await once(socket, 'message'))[0])).toBe('still here');
});
