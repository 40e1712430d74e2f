import { expect, test } from 'vitest';
import { answering, bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { fieldOf, statusesOf } from '../../../support/rate-fields.ts';
import { policiesIn, serviceLimitsIn } from '../../../support/rate-limit-policies.ts';
import { names, type Response } from '../../../support/wire/index.ts';

const ODD = `9${'Az.-_0'.repeat(10)}Zz`;
const limits = {
  headers: ['x-ratelimit', 'ratelimit'],
  global: { user: '9/60s', address: '1/60s' },
  buckets: {
    writes: { main: 'id', user: '2/60s', resource: '3/30s' },
    steps: { user: '100/60s', algorithm: 'smooth' },
    tried: { user: '1/60s', shadow: true },
    partly: { user: '9/60s', shadow: { user: '1/60s' } },
    [ODD]: { user: '65535/18h' },
  },
  routes: {
    ...{ 'PUT /things/{id}': 'writes', 'GET /steps': 'steps', 'GET /tried': 'tried' },
    ...{ 'GET /partly': 'partly', 'GET /odd': ODD },
  },
};
const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const GLOBAL = { name: 'global', q: 9, w: 60 };

/** What both fields of a response say. */
const said = (response: Response | undefined) => ({
  policies: policiesIn(fieldOf(response, 'ratelimit-policy')),
  left: serviceLimitsIn(fieldOf(response, 'ratelimit')),
});
const namesOf = (response: Response | undefined) =>
  names(response?.fields ?? []).filter(name => /^ratelimit/i.test(name));

test('RateLimit and RateLimit-Policy are not sent unless limits.yaml says so', async () => {
  const { headers: _, ...others } = limits;
  const bare = await bareGateway(others);
  const responses = await bare.askTimes(3, 'PUT /things/1', ALICE);
  expect(statusesOf(responses)).toEqual([200, 200, 429]);
  expect(responses.flatMap(namesOf)).toEqual([]);
});

test('they tell every limit of the request, and what is left of the one that the other headers describe', async () => {
  const bare = await bareGateway(limits);
  const resource = { name: 'writes/resource', q: 3, w: 30 };
  const policies = [{ name: 'writes', q: 2, w: 60 }, resource, GLOBAL];
  const [first, second, third] = await bare.askTimes(3, 'PUT /things/1', ALICE);
  const pk = fieldOf(first, 'x-ratelimit-bucket');
  expect(said(first)).toEqual({ policies, left: [{ name: 'writes', r: 1, t: 60, pk }] });
  for (const response of [second, third])
    expect(said(response)).toEqual({ policies, left: [{ name: 'writes', r: 0, t: 60, pk }] });
  expect(fieldOf(third, 'retry-after')).toBe('60');
  // That of all callers together.
  const [, shared] = await bare.askTimes(2, 'PUT /things/1', BOB);
  expect(said(shared).left).toEqual([{ name: 'writes/resource', r: 0, t: 30, pk }]);
  // Another main value is another part.
  const other = await bare.ask('PUT /things/2', BOB);
  expect(said(other).left[0]?.['pk']).toBe(fieldOf(other, 'x-ratelimit-bucket'));
  expect(said(other).left[0]?.['pk']).not.toBe(pk);
  // A bucket without a main parameter has no parts; a smooth one has a next unit long before all of them.
  expect(said(await bare.ask('GET /steps', BOB))).toEqual({
    policies: [{ name: 'steps', q: 100, w: 60 }, GLOBAL],
    left: [{ name: 'steps', r: 99, t: 1 }],
  });
  expect(said(await bare.ask('GET /odd', BOB)).policies[0]).toEqual({ name: ODD, q: 65_535, w: 64_800 });
});

test('they are on a global 429 as well, and say when it ends', async () => {
  const bare = await bareGateway(limits);
  await bare.askTimes(9, 'GET /odd', ALICE);
  bare.clock.advance(20_000);
  for (const [line, count] of [
    ['GET /odd', 2],
    ['GET /unlimited', 1],
  ] as const) {
    const refused = await bare.ask(line, ALICE);
    expect(fieldOf(refused, 'x-ratelimit-global')).toBe('true');
    expect(said(refused).policies).toHaveLength(count);
    expect(said(refused).policies.at(-1)).toEqual(GLOBAL);
    expect(said(refused).left).toEqual([{ name: 'global', r: 0, t: 40 }]);
  }
  // Nor has a request without a token other policies than those of its address.
  const [, anonymous] = await bare.askTimes(2, 'GET /open/things');
  expect(said(anonymous).policies).toEqual([{ name: 'global', q: 1, w: 60 }]);
});

test('they say nothing of limits in shadow, nor where no bucket takes part', async () => {
  const bare = await bareGateway(limits);
  const [, tried] = await bare.askTimes(2, 'GET /tried', ALICE);
  expect([tried?.status, namesOf(tried)]).toEqual([200, []]);
  expect(said(await bare.ask('GET /partly', ALICE))).toEqual({
    policies: [{ name: 'partly', q: 9, w: 60 }, GLOBAL],
    left: [{ name: 'partly', r: 8, t: 60 }],
  });
  expect(namesOf(await bare.ask('GET /unlimited', ALICE))).toEqual([]);
  expect(namesOf(await bare.ask('GET /odd'))).toEqual([]);
});

test.each([
  ['rewritten', '/things/1'],
  ['passed on', '/passing'],
])("a service's own 429 that is %s: t is its Retry-After", async (_, path) => {
  const routes = [{ path: '/passing', upstream: 'api', upstream_429: 'pass' }];
  const bare = await bareGateway(
    { ...limits, routes: { 'PUT /things/{id}': 'writes', 'PUT /passing': 'steps' } },
    { routes, service: answering(429, ['Retry-After', '7']) },
  );
  const response = await bare.ask(`PUT ${path}`, ALICE);
  expect(response.status).toBe(429);
  expect(fieldOf(response, 'retry-after')).toBe('7');
  expect(said(response).left[0]).toMatchObject({ t: 7 });
});
