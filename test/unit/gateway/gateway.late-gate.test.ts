import { expect, test } from 'vitest';
import { errors } from '../../../src/gateway/index.ts';
import { UNLIMITED } from '../../../src/limits/index.ts';
import { bareGateway, silence } from '../../support/bare-gateway.ts';

/** A gateway whose limits are decided when `decide` is called. */
async function slowlyLimited() {
  const bare = await bareGateway({}, { service: silence });
  const decided = Promise.withResolvers<unknown>();
  Object.assign(bare.limiting, { store: { decide: () => decided.promise } });
  const decide = async (more = {}) => {
    decided.resolve({ ...UNLIMITED, ...more });
    await new Promise(resolve => setImmediate(resolve));
  };
  return { bare, gateway: bare.gateway, decide, send: () => bare.send('GET /open/a') };
}

test('a request that was answered while a gate waited is not sent to the upstream, nor answered again', async () => {
  const { bare, decide, send } = await slowlyLimited();
  const { exchange, client } = send();
  exchange.fault(errors.badRequest('of something'));
  await decide();
  expect([client.responses, (await client.response).status]).toEqual([1, 400]);
  expect(bare.requests).toEqual([]);
});

test('a request that waited for a gate is sent to the upstream', async () => {
  const { bare, decide, send } = await slowlyLimited();
  const { client } = send();
  await decide();
  expect(bare.requests).toHaveLength(1);
  expect(client.responses).toBe(0);
});

test('a request that left or was answered while a gate waited has returned its permit once', async () => {
  const { gateway, decide, send } = await slowlyLimited();
  const [left, answered, stays] = [send(), send(), send()];
  expect(gateway.inFlightTo('api')).toBe(3);
  left.leave();
  answered.exchange.fault(errors.badRequest('of something'));
  expect(gateway.inFlightTo('api')).toBe(1);
  gateway.over(answered.exchange, true);
  await decide();
  expect(gateway.inFlightTo('api')).toBe(1);
  gateway.over(stays.exchange, true);
  expect(gateway.inFlightTo('api')).toBe(0);
});

test('a request refused by limits holds no permit, however slowly its client reads the response', async () => {
  const { gateway, decide, send } = await slowlyLimited();
  const { exchange, client } = send();
  await decide({ admitted: false, role: 'global', retryAfterMs: 1_000 });
  expect((await client.response).status).toBe(429);
  expect(gateway.inFlightTo('api')).toBe(0);
  gateway.over(exchange, true);
  expect(gateway.inFlightTo('api')).toBe(0);
});
