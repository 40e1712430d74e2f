import { expect, test } from 'vitest';
import { startBalancer, startEndpoints, type TestEndpoint, urlsOf } from '../support/endpoints.ts';
import { head } from '../support/requests.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

test('a backup serves while all others are away, and no longer', async () => {
  const clock = new FrozenClock(Date.now());
  const endpoints = (await startEndpoints(3)) as unknown as readonly [
    TestEndpoint,
    TestEndpoint,
    TestEndpoint,
  ];
  const [one, two, backup] = endpoints;
  const [first, second, third] = urlsOf(endpoints);
  const urls = [first, second, { url: third, backup: true }];
  const gateway = await startBalancer([], { urls }, { clock });
  const requests = async (times: number) => {
    for (let i = 0; i < times; i++) expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  };
  await requests(20);
  expect(backup.requests).toHaveLength(0);
  await one.die();
  await requests(20);
  expect(backup.requests).toHaveLength(0);
  // Both are left out, though that is more than half of all.
  await two.die();
  await requests(20);
  const { text } = await gateway.admin('/status.json');
  expect(text.match(/connect_failures/g) ?? []).toHaveLength(2);
  expect(backup.requests).toHaveLength(20);
  await one.listen();
  clock.advance(10_000);
  await requests(20);
  expect(backup.requests).toHaveLength(20);
});
