import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { ask, asWire, connectHttp2, H2C } from '../support/http2-client.ts';
import { connectFrames, FLAG, frame, headers, request, TYPE } from '../support/http2-frames.ts';
import { BUCKET_FIELDS, fieldOf, rateFieldsOf, rateOf, refusalOf, startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const GLOBAL = { user: '1000/1s', bot: '1000/1s', address: '1000/1s' };
const config = { listen: H2C };

/** The Authorization field of a header line. */
function tokenOf(line: string): string {
  return line.slice('Authorization: '.length);
}

test('the responses of a bucket count down over both versions together, with the same six headers', async () => {
  const buckets = { reads: { main: 'id', user: '3/60s', bot: '7/60s' } };
  const limits = { global: GLOBAL, buckets, routes: { 'GET /things/{id}': 'reads' } };
  const front = await startLimited(limits, { config });
  const bearer = front.issuer.bearer();
  const session = connectHttp2(front.gateway);
  const get = () => ask(session, { ':path': '/things/1', authorization: tokenOf(bearer) });
  const responses = [
    asWire(await get()),
    await front.gateway.ask(head('GET /things/1', bearer)),
    asWire(await get()),
    asWire(await get()),
  ];
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(responses.map(response => rateOf(response).remaining)).toEqual([2, 1, 0, 0]);
  expect(new Set(responses.map(response => rateOf(response).reset)).size).toBe(1);
  expect(rateFieldsOf(responses[0])).toEqual(BUCKET_FIELDS);
  expect(refusalOf(responses[3])).toMatchObject({ global: false });
  expect(fieldOf(responses[3], 'content-type')).toBe('application/json');
  expect(fieldOf(responses[3], 'retry-after')).toMatch(/^\d+$/);
  expect(front.upstream.requests).toHaveLength(3);
});

test('requests of one connection that go out together draw exactly what there is', async () => {
  const limits = { global: { ...GLOBAL, user: '20/60s' } };
  const front = await startLimited(limits, { config });
  const authorization = tokenOf(front.issuer.bearer());
  const session = connectHttp2(front.gateway);
  const asked = Array.from({ length: 60 }, (_, i) => ask(session, { ':path': `/${i}`, authorization }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter(status => status === 200)).toHaveLength(20);
  expect(statuses.filter(status => status === 429)).toHaveLength(40);
});

test('a restriction ends the streams that its address has open', async () => {
  const limits = { global: GLOBAL, invalid_requests: { limit: '2/60s', restrict_for: '60s' } };
  const held: Script = exchange => exchange.gone;
  const front = await startLimited(limits, { config, upstream: held });
  const session = connectHttp2(front.gateway);
  const response = ask(session, { ':path': '/open/a' });
  await waitFor('it is upstream', () => front.upstream.requests.length === 1);
  for (let i = 0; i < 3; i++) expect(await ask(session, { ':path': '/a' })).toMatchObject({ status: 401 });
  expect(await inTime(front.gateway.time, response)).toMatchObject({ status: 429 });
  await waitFor('the upstream connection is gone', () => front.upstream.openConnections.length === 0);
});

test('a body that brings too little is answered 408, and one that pauses too long as well', async () => {
  const upstream = await startUpstream();
  const clock = new FrozenClock();
  const gateway = await startGateway({ upstreamPort: upstream.port, clock, config: { listen: H2C } });
  const client = await (await connectFrames(gateway.port)).begin();
  const isAnswered = (id: number) =>
    client.frames.some(({ type, stream }) => type === TYPE.headers && stream === id);
  const answeredThough = (id: number, sent: Buffer) =>
    clock.advanceUntil('it is answered', () => client.send(sent).then(() => isAnswered(id)), 1_000);
  await client.send(headers(1, request('/', 'POST'), FLAG.endHeaders));
  await answeredThough(1, frame(TYPE.data, 0, 1, 'x'));
  expect(await client.status(1)).toBe(408);
  expect(await inTime(clock, client.reset(1))).toBe(constants.NGHTTP2_NO_ERROR);
  await client.send(headers(3, request('/', 'POST'), FLAG.endHeaders), frame(TYPE.data, 0, 3, 'x'));
  await clock.advanceUntil('it is answered', () => isAnswered(3), 1_000);
  expect(await client.status(3)).toBe(408);
  // Padding is not a part of the body, so it does not keep a stream alive.
  await client.send(headers(5, request('/', 'POST'), FLAG.endHeaders));
  await answeredThough(5, frame(TYPE.data, FLAG.padded, 5, Buffer.alloc(200, 199)));
  expect(await client.status(5)).toBe(408);
});

test('a client that waits for a 100 gets it when its body is wanted, and none where it is refused', async () => {
  const upstream = await startUpstream();
  const route = { max_body: '1KiB' };
  const gateway = await startGateway({ upstreamPort: upstream.port, route, config: { listen: H2C } });
  const client = await (await connectFrames(gateway.port)).begin();
  const waiting = (length: string): [string, string][] => [
    ...request('/', 'POST'),
    ['expect', '100-continue'],
    ['content-length', length],
  ];
  await client.send(headers(1, waiting('5'), FLAG.endHeaders), headers(3, waiting('5000'), FLAG.endHeaders));
  expect(await client.status(3)).toBe(413);
  await waitFor('the first one is asked for its body', () => headersOf(1).length === 1);
  expect(headersOf(3)).toHaveLength(1);
  expect(upstream.requests).toHaveLength(1);
  await client.send(frame(TYPE.data, FLAG.endStream, 1, '12345'));
  expect(await client.status(1)).toBe(200);
  expect(upstream.requests[0]?.body.toString()).toBe('12345');

  function headersOf(id: number) {
    return client.frames.filter(({ type, stream }) => type === TYPE.headers && stream === id);
  }
});
