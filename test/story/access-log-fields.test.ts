import { expect, test } from 'vitest';
import { EventStreams } from '../support/event-streams.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { message, openSocket, startWsServer } from '../support/web-sockets.ts';
import { startUpstream } from '../support/wire/index.ts';

const TOKEN = 'b7f1-the-token-of-a-webhook';
const ROUTES = [{ path: '/v1/webhooks/{id}/{token}', upstream: 'api', authentication: 'none' }];

const LOG = { log: { level: 'info' } };

const linesOf = (gateway: LocalGateway, type: string) =>
  gateway.logLines.map(line => JSON.parse(line)).filter(line => line.type === type);

test('the log tells equal values in paths from others, and none of them what it is', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { ...LOG, routes: ROUTES } });
  secret(TOKEN);
  for (const id of ['41', '41', '42']) await gateway.ask(head(`GET /v1/webhooks/${id}/${TOKEN}?q=${TOKEN}`));
  await expect.poll(() => accessLines(gateway).length).toBe(3);
  const paths = accessLines(gateway).map(({ path }) => String(path));
  for (const path of paths) expect(path).toMatch(/^\/v1\/webhooks\/\{[\w-]{22}\}\/\{[\w-]{22}\}$/);
  expect(paths[1]).toBe(paths[0]);
  expect(paths[2]).not.toBe(paths[0]);
  expect(paths[2]?.split('/')[4]).toBe(paths[0]?.split('/')[4]);
});

test.each([
  [[], undefined],
  [['user_agent'], 'curl/9 "quoted"'],
])('with log.fields %j the user agent is %s', async (fields, expected) => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { log: { fields } } });
  await gateway.ask(head('GET /a', 'User-Agent: curl/9 "quoted"'));
  await expect.poll(() => accessLines(gateway).length).toBe(1);
  expect(accessLines(gateway)[0]?.['userAgent']).toBe(expected);
});

test('a WebSocket has a line when it begins, and another when it ends', async () => {
  const upstream = await startWsServer({ perMessageDeflate: false, maxPayload: 0 });
  upstream.echo();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    config: LOG,
  });
  const socket = await openSocket(gateway);
  socket.send('hello');
  await message(socket);
  expect(linesOf(gateway, 'admission')).toMatchObject([{ decision: 'admitted', method: 'GET' }]);
  expect(accessLines(gateway)).toEqual([]);
  socket.close();
  await expect.poll(() => accessLines(gateway)).toMatchObject([{ lasted: true, protocol: 'websocket' }]);
});

test('a stream of events has a line while it runs', async () => {
  const streams = new EventStreams();
  const upstream = await startUpstream(exchange => streams.serve(exchange));
  const gateway = await startGateway({ upstreamPort: upstream.port, config: LOG });
  const client = await gateway.connect();
  await client.send(head('GET /events'));
  const stream = await streams.next();
  await expect.poll(() => linesOf(gateway, 'admission'), { timeout: 5_000 }).toHaveLength(1);
  expect(accessLines(gateway)).toEqual([]);
  await stream.end();
  await expect.poll(() => accessLines(gateway)).toMatchObject([{ lasted: true, status: 200 }]);
});
