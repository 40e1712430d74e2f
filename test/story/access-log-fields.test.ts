import { expect, test } from 'vitest';
import { EventStreams } from '../support/event-streams.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { askTimes, startLimited } from '../support/limits.ts';
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
  gateway.time.advance(2_000);
  await expect.poll(() => linesOf(gateway, 'admission')).toHaveLength(1);
  expect(accessLines(gateway)).toEqual([]);
  await stream.end();
  await expect.poll(() => accessLines(gateway)).toMatchObject([{ lasted: true, status: 200 }]);
});

test('the log says which of several windows refused', async () => {
  const front = await startLimited({
    global: { user: '9/1m' },
    buckets: { both: { user: ['1/1s', '2/day'] }, one: { user: '1/1s' } },
    routes: { '/open/both': 'both', '/open/one': 'one' },
  });
  await askTimes(front, 2, 'GET /open/both');
  await askTimes(front, 2, 'GET /open/one');
  await expect.poll(() => accessLines(front.gateway)).toHaveLength(4);
  const said = accessLines(front.gateway).map(({ decision, period }) => [decision, period]);
  expect(said).toEqual([
    ['admitted', undefined],
    ['caller', '1s'],
    ['admitted', undefined],
    ['caller', undefined],
  ]);
});

test('the log says what leads to restrictions, and what they refuse', async () => {
  const front = await startLimited(
    {
      global: 'off',
      invalid_requests: { limit: '2/60s', restrict_for: '60s' },
      webhook_not_found: { limit: '1/60s', restrict_for: '60s' },
      never_restrict: [{ client: 'app', subject: 'alice' }],
    },
    {
      ...LOG,
      routes: [{ path: '/hooks/{id}', authentication: 'none', webhook: true }],
      upstream: exchange =>
        exchange.answer(Number(exchange.request.target.split('?')[1]), ['X-RateLimit-Scope', 'shared']),
    },
  );
  const alice = front.issuer.bearer();
  const client = await front.gateway.connect();
  const ask = (target: string, ...lines: string[]) => client.ask(head(target, ...lines));
  for (const status of [429, 403]) await ask(`GET /a?${status}`, alice);
  for (const status of [404, 404, 200]) await ask(`GET /hooks/7?${status}`);
  for (let i = 0; i < 3; i++) await ask('GET /a?200');
  await ask('GET /a?200', alice);
  await ask('GET /a?200', 'Authorization: Bearer other');
  await ask('GET /open/a?200', 'Authorization: Bearer other');
  const another = await front.gateway.connect();
  for (const target of ['GET /a?200', 'GET /open/a?200']) await another.ask(head(target, alice));
  await expect.poll(() => accessLines(front.gateway).length).toBe(13);
  const webhook = accessLines(front.gateway)[2]?.['webhook'];
  expect(webhook).toMatch(/^[\w-]{22}$/);
  const decidedAt = expect.any(Number);
  const offenceAt = expect.any(Number);
  const seen = accessLines(front.gateway).map(line =>
    Object.fromEntries(FIELDS.flatMap(name => (line[name] === undefined ? [] : [[name, line[name]]]))),
  );
  expect(seen).toEqual([
    { class: 'user', decidedAt, spared: true, scope: 'shared' },
    { class: 'user', decidedAt, spared: true, offenceAt },
    { class: 'address', decidedAt, webhook, offenceAt },
    { class: 'address', decidedAt, webhook, offenceAt },
    { class: 'address', decidedAt, webhook, restricted: 'webhook' },
    { class: 'address', decidedAt, offenceAt },
    { class: 'address', decidedAt, offenceAt },
    { class: 'address', decidedAt, offenceAt },
    // The connection had that token before.
    { class: 'user', decidedAt, spared: true, restricted: 'address' },
    { class: 'address', decidedAt, restricted: 'address', callerUnknown: true },
    { class: 'address', decidedAt, restricted: 'address' },
    // The gateway remembers her token, and a route without authentication does not ask for it.
    { class: 'user', decidedAt, spared: true, restricted: 'address' },
    { class: 'address', decidedAt, restricted: 'address' },
  ]);
});

const FIELDS = [
  ...['class', 'decidedAt', 'restricted', 'callerUnknown', 'preflight', 'spared', 'webhook'],
  ...['scope', 'offenceAt'],
];
