import { expect, test } from 'vitest';
import {
  answering,
  bareGateway,
  failing,
  type Sending,
  type Service,
  silence,
} from '../../../support/bare-gateway.ts';
import { fieldOf, rateOf } from '../../../support/rate-fields.ts';
import { serviceLimitsIn } from '../../../support/rate-limit-policies.ts';

const ALICE: Sending = { as: { sub: 'alice', org: 'acme' } };
const BOB: Sending = { as: { sub: 'bob', org: 'acme' } };
const limits = {
  headers: ['x-ratelimit', 'ratelimit'],
  global: { user: '9/60s' },
  buckets: {
    b: {
      ...{ main: 'id', user: ['5/1s', '5/60s'], group: { claim: 'org', limit: '7/60s' }, resource: '6/60s' },
      give_back: [404, '5xx'],
    },
  },
  routes: { '/b/{id}': { bucket: 'b', cost: 2 } },
};

/** The numbers after one request that is answered so, and after the next that is answered 200. */
async function afterOne(
  service: Service,
): Promise<{ told: number | undefined; left: number; status: number }> {
  let isFirst = true;
  const bare = await bareGateway(limits, {
    service: (request, sink) => {
      const serve = isFirst ? service : answering(200);
      isFirst = false;
      serve(request, sink);
    },
  });
  const first = await bare.ask('GET /b/1', ALICE);
  const next = await bare.ask('GET /b/1', ALICE);
  return { status: first.status, told: rateOf(first).remaining, left: rateOf(next).remaining };
}

test.each([
  [200, 3, 1],
  [403, 3, 1],
  [404, 5, 3],
  [500, 5, 3],
  [503, 5, 3],
])('a response with %d says that %d are left, and the next one %d', async (status, told, left) => {
  expect(await afterOne(answering(status))).toEqual({ status, told, left });
});

test('where requests and costs count apart, Remaining says what goes back of the quota that it describes', async () => {
  const user = [{ limit: '20/60s', unit: 'cost' }, '5/60s'];
  const b = { user, give_back: ['5xx'] };
  const bare = await bareGateway(
    { buckets: { b }, routes: { '/b/{id}': { bucket: 'b', cost: 7 } } },
    { service: answering(500) },
  );
  const answers = await bare.askTimes(6, 'GET /b/1', ALICE);
  expect(answers.map(each => rateOf(each).remaining)).toEqual([5, 5, 5, 5, 5, 5]);
});

test('the 502 and 504 that the gateway makes itself give back as well', async () => {
  expect(await afterOne((_, sink) => sink.fail(failing('malformed')))).toEqual({
    status: 502,
    told: 5,
    left: 3,
  });
  expect(await afterOne((_, sink) => sink.fail(failing('timeout')))).toEqual({
    status: 504,
    told: 5,
    left: 3,
  });
});

test('every limit of the bucket gets back what was drawn, the global one nothing', async () => {
  const bare = await bareGateway(limits, { service: answering(500) });
  for (let n = 0; n < 9; n++)
    expect((await bare.ask('GET /b/1', n % 2 === 0 ? ALICE : BOB)).status).toBe(500);
  // Neither the resource with 6 nor the group with 7 was spent by 18 units; of the 9 of each caller 5 and 4 are.
  const answers = await bare.askTimes(5, 'GET /b/1', ALICE);
  expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500, 429]);
  expect(fieldOf(answers[4], 'x-ratelimit-scope')).toBe('global');
});

test('RateLimit says the same', async () => {
  const bare = await bareGateway(limits, { service: answering(500) });
  const [left] = serviceLimitsIn(fieldOf(await bare.ask('GET /b/1', ALICE), 'ratelimit'));
  expect(left).toMatchObject({ name: 'b/1s', r: 5 });
});

test('a client that leaves before the head has spent its request', async () => {
  const bare = await bareGateway(limits, { service: silence });
  bare.send('GET /b/1', ALICE).leave();
  const { set, caller } = {
    set: bare.snapshot.limits.buckets[0]?.sets.user,
    caller: bare.records[0]?.caller.principal,
  };
  if (set === undefined || caller == null) throw new Error('there is no bucket');
  expect(bare.limiting.local.peek(set, caller, '1', 'acme').remaining).toBe(3);
});

test('nothing goes back to a window that is over, and its response does not say so', async () => {
  let answer = () => {};
  const bare = await bareGateway(limits, {
    service: (request, sink) => {
      answer = () => answering(500)(request, sink);
    },
  });
  const sent = bare.send('GET /b/1', ALICE);
  bare.clock.advance(61_000);
  answer();
  expect(rateOf(await sent.client.response).remaining).toBe(3);
});
