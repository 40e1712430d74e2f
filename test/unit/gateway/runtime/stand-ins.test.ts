import { expect, test } from 'vitest';
import { ownersOfCaller } from '../../../../src/gateway/runtime/restricting.ts';
import { standInsOf } from '../../../../src/gateway/runtime/stand-ins.ts';
import { type Limit, type LimitRole, NO_LIMITS } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { limit, newStore } from '../../limits/stores.ts';

const MESSAGES: Readonly<Record<string, string>> = {
  caller: 'keys_per_caller',
  network: 'network',
  everyone: 'caps.limit_keys',
};

/** A store of 20 counters at most, and what is reported of it since the last look. */
function watch(limits: readonly Limit[], keysPerCaller = 4_096) {
  const ownersOf = ownersOfCaller;
  const clock = new FrozenClock();
  const store = newStore(clock, { maxKeys: 20, keysPerCaller, ownersOf });
  store.share(limits);
  const events: unknown[] = [];
  const warned = (
    { type, bucket, standIn, decisions }: Readonly<Record<string, unknown>>,
    message: string,
  ) => {
    expect([type, message]).toEqual(['limit', expect.stringMatching(MESSAGES[String(standIn)] ?? '^$')]);
    events.push([bucket, standIn, decisions]);
  };
  const report = standInsOf(store, { warned }, clock);
  const ask = (role: LimitRole, of: Limit, caller: string, main = '') =>
    store.decide({ ...NO_LIMITS, [role]: of }, caller, main);
  const look = () => {
    report();
    return events.splice(0);
  };
  return { ask, look, clock };
}

test('further main values of callers have a line for each bucket and minute, with the decisions since the last', () => {
  const things = limit('9/1h', { bucket: 'things', main: 'id' });
  const others = limit('9/1h', { bucket: 'others', main: 'id' });
  const { ask, look, clock } = watch([things, others], 2);
  for (const main of ['a', 'b', 'b']) ask('caller', things, 'user:a', main);
  expect(look()).toEqual([]);
  for (const main of ['c', 'd', 'a']) ask('caller', things, 'user:a', main);
  ask('caller', others, 'user:a', 'a');
  expect(look()).toEqual([
    ['things', 'caller', 2],
    ['others', 'caller', 1],
  ]);
  expect(look()).toEqual([]);
  ask('caller', things, 'user:a', 'c');
  expect(look()).toEqual([]);
  clock.advance(60_000);
  ask('caller', things, 'user:a', 'd');
  expect(look()).toEqual([['things', 'caller', 2]]);
});

test('a network at its share is reported apart from a store without room for anyone', () => {
  const global = limit('1/1h', { role: 'global', bucket: '' });
  const { ask, look } = watch([global]);
  for (let i = 0; i < 40; i++) ask('global', global, `192.0.2.${i}`);
  expect(look()).toEqual([['none', 'network', expect.any(Number)]]);
  for (let i = 0; i < 40; i++) ask('global', global, `user:${i}`);
  expect(look()).toEqual([['none', 'everyone', expect.any(Number)]]);
});
