import { describe, expect, test } from 'vitest';
import {
  answering,
  type BareGateway,
  bareGateway,
  type Sending,
  silence,
} from '../../../support/bare-gateway.ts';
import type { ConfigPart } from '../../../support/gateway.ts';
import { fieldOf, statusesOf } from '../../../support/rate-fields.ts';
import type { Response } from '../../../support/wire/index.ts';

/** Expects the last response to be a refusal that names this cap in the record alone, and to have cost its sender nothing. */
function expectRefused(bare: BareGateway, response: Response | undefined, cap: string): void {
  expect([response?.status, fieldOf(response, 'retry-after')]).toEqual([503, '1']);
  expect(JSON.parse(String(response?.body))).toMatchObject({ code: 14 });
  const { error, decision, offenceAtMs } = bare.records.at(-1) ?? {};
  expect([error?.cap, error?.side, decision, offenceAtMs]).toEqual([cap, 'gateway', null, 0]);
}

test('a process that has fallen behind refuses what it comes to late in a turn, and serves what it comes to early', async () => {
  const bare = await bareGateway({ global: { address: '2/1m' } });
  bare.overload.use(250);
  for (let turn = 0; turn < 8; turn++) bare.clock.stall(350);
  bare.overload.stop();
  expect((await bare.ask('GET /open/a')).status).toBe(200);
  bare.clock.advance(200);
  for (const line of ['GET /open/a', 'GET /nowhere', 'TRACE /a'])
    expectRefused(bare, await bare.ask(line), 'event_loop_delay');
  expect(bare.requests).toHaveLength(1);
  bare.overload.tick();
  expect(statusesOf(await bare.askTimes(2, 'GET /open/a'))).toEqual([200, 429]);
});

const behind = (address: string): Sending => ({ from: '10.0.0.1', fields: ['X-Forwarded-For', address] });

describe('past a cap on requests in flight a request is 503, and served when there is room', () => {
  const EACH = { requests_per_address: 1 };

  test.each<[string, ConfigPart, Sending, Sending, number]>([
    ['in all', { requests: 1 }, {}, { from: '192.0.2.9' }, 503],
    ['of one address', EACH, {}, {}, 503],
    ['of one address, not of another', EACH, {}, { from: '192.0.2.9' }, 200],
    ['of one network of IPv6', EACH, { from: '2001:db8::1' }, { from: '2001:db8:0:0:ffff::2' }, 503],
    [
      'of one network of IPv6, not of another',
      EACH,
      { from: '2001:db8::1' },
      { from: '2001:db8:0:1::1' },
      200,
    ],
    ['of the address that a trusted proxy names', EACH, behind('192.0.2.7'), behind('192.0.2.7'), 503],
    ['of the proxy', EACH, behind('192.0.2.7'), behind('192.0.2.8'), 200],
    ['of both, of which the first is named', { requests: 1, ...EACH }, {}, {}, 503],
  ])('%s', async (_, caps, first, second, status) => {
    const bare = await bareGateway({}, { config: { caps, trusted_proxies: ['10.0.0.1'] }, service: silence });
    const held = bare.send('GET /open/a', first);
    bare.service = answering(200);
    const response = await bare.ask('GET /open/a', second);
    expect(response.status).toBe(status);
    if (status === 503) expectRefused(bare, response, String(Object.keys(caps)[0]));
    held.leave();
    expect((await bare.ask('GET /open/a', second)).status).toBe(200);
  });
});

test('the networks of one owner have four shares of that together', async () => {
  const bare = await bareGateway({}, { config: { caps: { requests_per_address: 1 } }, service: silence });
  for (let i = 0; i < 4; i++) bare.send('GET /open/a', { from: `2001:db8:0:${i}::1` });
  bare.service = answering(200);
  const response = await bare.ask('GET /open/a', { from: '2001:db8:0:4::1' });
  expectRefused(bare, response, 'requests_per_address');
  expect((await bare.ask('GET /open/a', { from: '2001:db8:10::1' })).status).toBe(200);
});
