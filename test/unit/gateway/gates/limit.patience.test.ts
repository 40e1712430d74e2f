import { expect, test } from 'vitest';
import { errors } from '../../../../src/gateway/index.ts';
import { type BareGateway, bareGateway, silence } from '../../../support/bare-gateway.ts';
import { statusesOf } from '../../../support/rate-fields.ts';

const LIMITS = { patience: '1s', buckets: { things: { address: '2/1s' } }, routes: { '/open/**': 'things' } };
const heldOf = ({ told }: BareGateway) => told.filter(([event]) => event === 'held').map(([, how]) => how);
/** What was resolved, and what waited for it. */
const settled = () => new Promise(resolve => setImmediate(resolve));

test('a request that its limit would refuse is held until there is room, in its order', async () => {
  const bare = await bareGateway(LIMITS);
  expect(statusesOf(await bare.askTimes(2, 'GET /open/a'))).toEqual([200, 200]);
  const [first, second, third] = [1, 2, 3].map(n => bare.send(`GET /open/${n}`));
  await settled();
  // No more are held than the quota could admit.
  expect((await third?.client.response)?.status).toBe(429);
  expect(bare.requests).toHaveLength(2);
  bare.clock.advance(1_000);
  for (const sent of [first, second]) {
    expect((await sent?.client.response)?.status).toBe(200);
    if (sent !== undefined) bare.gateway.over(sent.exchange, true);
  }
  expect(bare.requests.map(({ target }) => target)).toEqual(['/open/a', '/open/a', '/open/1', '/open/2']);
  expect(heldOf(bare).toSorted()).toEqual(['admitted', 'admitted', 'no_room']);
  expect(bare.records.map(({ heldMs }) => Math.round(heldMs))).toEqual([0, 0, 1_000, 1_000]);
});

test.each([
  [
    'leaves',
    ({ gateway }: BareGateway, sent: ReturnType<BareGateway['send']>) => gateway.over(sent.exchange, false),
  ],
  [
    'sends a broken body',
    (_: BareGateway, sent: ReturnType<BareGateway['send']>) =>
      sent.exchange.fault(errors.badRequest('of its body')),
  ],
])('a request whose client %s while it is held goes nowhere, and gives up its place', async (_, ends) => {
  const bare = await bareGateway(LIMITS);
  await bare.askTimes(2, 'GET /open/a');
  const held = bare.send('GET /open/held');
  await settled();
  bare.clock.advance(400);
  ends(bare, held);
  expect(bare.gateway.inFlightTo('api')).toBe(0);
  bare.clock.advance(1_000);
  await settled();
  expect(heldOf(bare)).toEqual(['abandoned']);
  expect(bare.requests).toHaveLength(2);
  expect(held.exchange.heldMs).toBeCloseTo(400);
});

test('a request with a longer wait, or that its upstream has no room for, is refused at once', async () => {
  const short = await bareGateway({ ...LIMITS, patience: '10ms' });
  expect(statusesOf(await short.askTimes(3, 'GET /open/a'))).toEqual([200, 200, 429]);
  const full = await bareGateway(LIMITS, { api: { max_requests: 1 } });
  await full.askTimes(2, 'GET /open/a');
  full.service = silence;
  full.send('GET /a', { as: true });
  expect((await full.ask('GET /open/a')).status).toBe(429);
  expect([...heldOf(short), ...heldOf(full)]).toEqual([]);
});
