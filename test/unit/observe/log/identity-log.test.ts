import { expect, test } from 'vitest';
import { GatewayError, type IntrospectionEvent, type RedeemEvent } from '../../../../src/core/index.ts';
import { identityLog, makeLogger } from '../../../../src/observe/log/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

function room() {
  const lines: Record<string, unknown>[] = [];
  const clock = new FrozenClock();
  const log = identityLog(makeLogger('info', { write: line => void lines.push(JSON.parse(line)) }), clock);
  return { lines, clock, log };
}

test('tokens that lack a claim are logged once per claim and minute, with their number', () => {
  const { lines, clock, log } = room();
  const told = () => lines.splice(0).map(({ claim, tokens }) => [claim, tokens]);
  for (let i = 0; i < 1_000; i++) log.tokenRefused('claim', 'azp');
  log.tokenRefused('claim', 'sub');
  expect(told()).toEqual([
    ['azp', 1],
    ['sub', 1],
  ]);
  clock.advance(59_999);
  log.tokenRefused('claim', 'azp');
  expect(told()).toEqual([]);
  clock.advance(1);
  log.tokenRefused('claim', 'azp');
  expect(told()).toEqual([['azp', 1_001]]);
});

test('tokens refused for another reason are no line of their own', () => {
  const { lines, log } = room();
  for (const reason of ['expired', 'signature', 'malformed'] as const) log.tokenRefused(reason, null);
  expect(lines).toEqual([]);
});

test('of a hundred flawed keys ten are named, and the rest are counted', () => {
  const { lines, log } = room();
  const keys = Array.from({ length: 100 }, (_, i) => ({ keyId: `${i}`, flaw: 'a point of small order' }));
  log.keySetLoaded(1, 100, keys);
  expect(lines.filter(line => 'flaw' in line)).toHaveLength(10);
  const more = lines.filter(line => 'keys' in line);
  expect(more).toMatchObject([{ keys: 90, msg: '90 more keys of the issuer are unusable' }]);
  log.keySetLoaded(1, 100, keys);
  expect(lines.filter(line => 'keys' in line)).toEqual(more);
});

test('ten flawed keys are named, and nothing is added', () => {
  const { lines, log } = room();
  log.keySetLoaded(
    1,
    10,
    Array.from({ length: 10 }, (_, i) => ({ keyId: `${i}`, flaw: 'a point of small order' })),
  );
  expect(lines.filter(line => 'flaw' in line)).toHaveLength(10);
  expect(lines.filter(line => 'keys' in line)).toEqual([]);
});

test('of a storm of failed sign-ins one a second is logged, with their number', () => {
  const { lines, clock, log } = room();
  const fail = (cause: string) => {
    const error = new GatewayError({ status: 503, side: 'provider', message: 'Try again.', cause });
    log.redeemed({ grant: 'code', outcome: 'unreachable', error } as RedeemEvent);
  };
  for (let i = 0; i < 1_000; i++) fail('connect ECONNREFUSED');
  clock.advance(1_000);
  fail('connect ECONNREFUSED');
  expect(lines.map(({ cause, failures }) => [cause, failures])).toEqual([
    ['connect ECONNREFUSED', 1],
    ['connect ECONNREFUSED', 1_000],
  ]);
});

test('an outage of introspection is logged however many failures the same second had before it', () => {
  const { lines, clock, log } = room();
  const error = (cause: string) =>
    new GatewayError({ status: 503, side: 'provider', message: 'Try.', cause });
  const ask = (fault: GatewayError | null) =>
    log.introspected({
      outcome: fault === null ? 'active' : 'unreachable',
      error: fault,
    } as IntrospectionEvent);
  const told = () => lines.splice(0).map(({ msg }) => msg);
  ask(error('reset'));
  ask(null);
  ask(error('reset'));
  expect(told()).toHaveLength(2);
  clock.advance(1_000);
  ask(error('reset'));
  ask(error('reset'));
  expect(told()).toEqual([expect.stringContaining('asking whether a token is still valid failed')]);
  ask(null);
  expect(told()).toEqual(['the provider says again whether tokens are still valid']);
});
