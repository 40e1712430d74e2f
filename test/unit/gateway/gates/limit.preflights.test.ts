import { expect, test } from 'vitest';
import { bareGateway } from '../../../support/bare-gateway.ts';
import { statusesOf } from '../../../support/rate-fields.ts';

const ORIGIN = 'https://app.example.com';
const PREFLIGHT = { fields: ['Origin', ORIGIN, 'Access-Control-Request-Method', 'PUT'] };
const settings = {
  config: { cors: { origins: [ORIGIN] } },
  routes: [{ path: '/own/**', upstream: 'api', authentication: 'none', cors: false }],
};

test('preflights that the gateway answers draw on a counter of their own, with the number of the address', async () => {
  const bare = await bareGateway({ global: { address: '3/60s' } }, settings);
  expect(statusesOf(await bare.askTimes(4, 'OPTIONS /open/x', PREFLIGHT))).toEqual([204, 204, 204, 429]);
  expect(statusesOf(await bare.askTimes(4, 'GET /open/x'))).toEqual([200, 200, 200, 429]);
  expect(bare.records.map(({ decision }) => decision?.consumes)).toEqual([
    ...Array.from({ length: 4 }, () => 'preflights'),
    ...Array.from({ length: 4 }, () => 'all'),
  ]);
});

test('those that a service answers draw on the global limit of the address', async () => {
  const bare = await bareGateway({ global: { address: '3/60s' } }, settings);
  expect(statusesOf(await bare.askTimes(2, 'OPTIONS /own/x', PREFLIGHT))).toEqual([200, 200]);
  expect(statusesOf(await bare.askTimes(2, 'GET /open/x'))).toEqual([200, 429]);
});

test('without a global limit they have none either', async () => {
  const bare = await bareGateway({ global: 'off' }, settings);
  expect(
    statusesOf(await bare.askTimes(60, 'OPTIONS /open/x', PREFLIGHT)).every(status => status === 204),
  ).toBe(true);
});
