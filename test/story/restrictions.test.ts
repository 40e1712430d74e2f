import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { H2C } from '../support/http2-client.ts';
import { connectFrames, FLAG, frame, headers, request, TYPE, uint32 } from '../support/http2-frames.ts';
import { accessLines } from '../support/identity-gateway.ts';
import {
  askOnce,
  askTimes,
  fieldOf,
  GLOBAL_FIELDS,
  type LimitedGateway,
  rateFieldsOf,
  refusalOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import type { Script } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const global = { user: '10000/1s', bot: '10000/1s', address: '10000/1s' };
const limits = { global, invalid_requests: { limit: '4/60s', restrict_for: '2s' } };

interface FrozenGateway extends LimitedGateway {
  readonly clock: FrozenClock;
}

/** A gateway whose time goes by only when the test says so: however busy the machine, a second has the requests it should have. */
async function startFrozen(...[limits, settings]: Parameters<typeof startLimited>): Promise<FrozenGateway> {
  const clock = new FrozenClock(Date.now());
  return { ...(await startLimited(limits, { ...settings, clock })), clock };
}

/** A stream that the service keeps open. */
const streaming: Script = async exchange => {
  await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  await exchange.gone;
};

const elsewhere = ({ gateway }: LimitedGateway, line: string, ...lines: string[]) =>
  gateway.ask(head(line, ...lines), { localAddress: '127.0.0.9' });

test('an address that sends too many invalid requests is refused for a while, and no other', async () => {
  const front = await startFrozen(limits);
  expect(statusesOf(await askTimes(front, 5, 'GET /a'))).toEqual([401, 401, 401, 401, 401]);
  const refused = await askOnce(front, 'GET /a', front.issuer.bearer());
  expect(refusalOf(refused)).toEqual({
    message: expect.any(String),
    retry_after: expect.any(Number),
    global: true,
    code: 8,
  });
  expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
  expect(fieldOf(refused, 'via')).toBeUndefined();
  expect(fieldOf(refused, 'x-request-id')).toBeDefined();
  expect(front.upstream.requests).toHaveLength(0);
  const { text } = await front.gateway.admin('/metrics');
  expect(text).toMatch(/^weir_restrictions_total\{.*kind="address".*\} 1$/m);
  expect(text).toMatch(/^weir_invalid_requests_total\{.*status="401".*\} 5$/m);
  expect((await elsewhere(front, 'GET /a', front.issuer.bearer())).status).toBe(200);
  front.clock.advance(Number(refusalOf(refused)['retry_after']) * 1_000);
  expect((await askOnce(front, 'GET /a', front.issuer.bearer())).status).toBe(200);
});

test('an address that is restricted has its long-lived streams closed', async () => {
  const front = await startFrozen(limits, { upstream: streaming });
  const stream = await front.gateway.connect();
  await stream.send(head('GET /stream', front.issuer.bearer()));
  await waitFor('the stream has begun', () => stream.bytesRead > 0);
  await askTimes(front, 5, 'GET /a');
  await front.clock.advanceUntil('the stream is closed', () => stream.end !== null);
});

test('a refusal that its client is slow to read is not cut off when its sender is restricted', async () => {
  const front = await startFrozen(limits, {
    config: { listen: H2C, log: { level: 'info', access: true } },
    upstream: streaming,
  });
  const noWindow = [constants.NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0] as const;
  const client = await (await connectFrames(front.gateway.port)).begin(noWindow);
  await client.send(headers(1, request('/refused')));
  expect(await client.status(1)).toBe(401);
  const stream = await front.gateway.connect();
  await stream.send(head('GET /stream', front.issuer.bearer()));
  await waitFor('the stream has begun', () => stream.bytesRead > 0);
  await askTimes(front, 5, 'GET /a');
  await front.clock.advanceUntil('the stream is closed', () => stream.end !== null);
  await client.send(frame(TYPE.windowUpdate, 0, 1, uint32(65_535)));
  await client.next(({ type, flags }) => type === TYPE.data && (flags & FLAG.endStream) !== 0);
  const line = () => accessLines(front.gateway).find(({ protocol }) => protocol === 'h2');
  await expect.poll(line).toMatchObject({ status: 401, outcome: 'answered' });
});

test('a webhook that answers 404 is refused to the address that keeps calling it, and is named nowhere', async () => {
  const front = await startFrozen(
    { global, webhook_not_found: { limit: '2/60s', restrict_for: '2s' } },
    {
      routes: [{ path: '/hooks/{id}/{token}', authentication: 'none', webhook: true }],
      upstream: exchange => exchange.answer(exchange.request.target.endsWith('?404') ? 404 : 200),
    },
  );
  const target = 'GET /hooks/marker-id/marker-token';
  expect(statusesOf(await askTimes(front, 3, `${target}?404`))).toEqual([404, 404, 404]);
  const refused = await askOnce(front, target);
  expect(refusalOf(refused)).toEqual({
    message: expect.any(String),
    retry_after: expect.any(Number),
    global: false,
    code: 8,
  });
  expect(rateFieldsOf(refused)).toEqual(['retry-after', 'x-ratelimit-scope']);
  expect(fieldOf(refused, 'x-ratelimit-scope')).toBe('shared');
  expect(fieldOf(refused, 'via')).toBe('1.1 weir');
  expect((await elsewhere(front, target)).status).toBe(200);
  expect((await askOnce(front, 'GET /hooks/marker-id/other')).status).toBe(200);
  const { text } = await front.gateway.admin('/metrics');
  expect(`${text}${front.gateway.logLines.join('\n')}`).not.toContain('marker');
});

test('a caller who ignores refusals is restricted on every address, with a response that has Via', async () => {
  const front = await startFrozen({
    global: { user: '1/30s', address: '100/1s' },
    ignored_refusals: { limit: '2/60s', restrict_for: '2s' },
    invalid_requests: 'off',
  });
  const bearer = front.issuer.bearer();
  expect(statusesOf(await askTimes(front, 2, 'GET /a', bearer))).toEqual([200, 429]);
  front.clock.advance(1_001);
  await askTimes(front, 3, 'GET /a', bearer);
  const refused = await elsewhere(front, 'GET /a', bearer);
  expect(refusalOf(refused)).toMatchObject({ global: true, code: 8 });
  expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
  expect(fieldOf(refused, 'via')).toBe('1.1 weir');
  expect((await askOnce(front, 'GET /a', front.issuer.bearer({ sub: 'bob' }))).status).toBe(200);
});
