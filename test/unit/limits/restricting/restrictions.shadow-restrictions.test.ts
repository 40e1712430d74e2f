import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Restricted } from '../../../../src/limits/index.ts';
import { InvalidRequests, Restrictions, ShadowRestrictions } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';

const A = '192.0.2.1';
const invalid: Restricted = { kind: 'address', key: A, webhook: '', reason: 'invalid_requests' };

let clock: FrozenClock;
let begun: Restricted[];
let shadow: ShadowRestrictions;
beforeEach(() => {
  clock = new FrozenClock();
  begun = [];
  shadow = new ShadowRestrictions({ clock, began: whom => begun.push(whom), maxOfKind: 2 });
});

describe('restrictions in shadow', () => {
  test('last as long as they would, and their end is set once', () => {
    shadow.restrict(invalid, 1_000);
    clock.advance(600);
    shadow.restrict(invalid, 1_000);
    expect(begun).toEqual([invalid]);
    expect(shadow.reasonsFor(A, null, '')).toEqual(['invalid_requests']);
    clock.advance(400);
    expect(shadow.reasonsFor(A, null, '')).toEqual([]);
    shadow.restrict(invalid, 1_000);
    expect(begun).toHaveLength(2);
  });

  test('are no more than fit: the one nearest its end gives way, as it would if the rule held', () => {
    const of = (key: string) => ({ ...invalid, key });
    for (const [i, key] of ['192.0.2.1', '192.0.2.2', '192.0.2.3'].entries())
      shadow.restrict(of(key), 1_000 - 100 * i);
    expect(shadow.list(9).map(({ key }) => key)).toEqual(['192.0.2.1', '192.0.2.3']);
  });

  test('give way of the network that holds most, and one that begins anew needs no other place', () => {
    const networkOf = (address: string) => address.slice(0, address.lastIndexOf('.'));
    shadow = new ShadowRestrictions({ clock, began: () => {}, maxOfKind: 3, networkOf });
    const keys = () => shadow.list(9).map(({ key }) => key);
    for (const key of ['203.0.113.1', '192.0.2.1', '192.0.2.2']) {
      clock.advance(1);
      shadow.restrict({ ...invalid, key }, 1_000);
    }
    shadow.restrict({ ...invalid, key: '198.51.100.1' }, 3_000);
    expect(keys()).toEqual(['203.0.113.1', '192.0.2.2', '198.51.100.1']);
    clock.advance(999);
    shadow.restrict({ ...invalid, key: '203.0.113.1' }, 3_000);
    expect(keys()).toEqual(['192.0.2.2', '198.51.100.1', '203.0.113.1']);
  });

  test('that begin anew take their own place again, though another one would be the next to give way', () => {
    const networkOf = (address: string) => address.slice(0, address.lastIndexOf('.'));
    shadow = new ShadowRestrictions({ clock, began: () => {}, maxOfKind: 3, networkOf });
    shadow.restrict({ ...invalid, key: '203.0.113.1' }, 1_000);
    for (const key of ['192.0.2.1', '192.0.2.2']) shadow.restrict({ ...invalid, key }, 3_000);
    clock.advance(1_000);
    shadow.restrict({ ...invalid, key: '203.0.113.1' }, 1_000);
    expect(shadow.list(9).map(({ key }) => key)).toEqual(['192.0.2.1', '192.0.2.2', '203.0.113.1']);
  });

  test('for one reason end without those for another', () => {
    shadow.restrict(invalid, 1_000);
    shadow.restrict({ ...invalid, reason: 'ignored_refusals' }, 1_000);
    shadow.end('invalid_requests');
    expect([shadow.list(9).map(({ reason }) => reason), shadow.isEmpty]).toEqual([
      ['ignored_refusals'],
      false,
    ]);
    shadow.end('ignored_refusals');
    expect(shadow.isEmpty).toBe(true);
  });

  test('of callers take no room from those of addresses', () => {
    for (const key of ['user:a', 'user:b', 'user:c'])
      shadow.restrict({ kind: 'principal', key, webhook: '', reason: 'ignored_refusals' }, 1_000);
    shadow.restrict({ ...invalid, reason: 'ignored_refusals' }, 1_000);
    expect(shadow.list(9).map(({ key }) => key)).toEqual([A, 'user:b', 'user:c']);
  });

  test('are about an address, a principal, or one webhook', () => {
    shadow.restrict({ ...invalid, kind: 'webhook', webhook: 'h1', reason: 'webhook_not_found' }, 1_000);
    shadow.restrict({ ...invalid, kind: 'principal', key: 'user:a', reason: 'ignored_refusals' }, 1_000);
    expect(shadow.reasonsFor(A, null, '')).toEqual([]);
    expect(shadow.reasonsFor(A, null, 'h2')).toEqual([]);
    expect(shadow.reasonsFor(A, 'user:a', 'h1')).toEqual(['webhook_not_found', 'ignored_refusals']);
    expect(shadow.reasonsFor('192.0.2.2', 'user:b', 'h1')).toEqual([]);
  });

  test('are listed until they would end, by address or principal', () => {
    shadow.restrict({ ...invalid, kind: 'webhook', webhook: 'h1', reason: 'webhook_not_found' }, 2_000);
    shadow.restrict({ ...invalid, kind: 'principal', key: 'user:a b', reason: 'ignored_refusals' }, 1_000);
    const untilEpochMs = Math.floor(clock.epochMs() + 2_000);
    const ofWebhook = { reason: 'webhook_not_found', key: A, untilEpochMs };
    const ofCaller = { reason: 'ignored_refusals', key: 'user:a b', untilEpochMs: untilEpochMs - 1_000 };
    expect(shadow.list(9)).toEqual([ofWebhook, ofCaller]);
    expect(shadow.list(1)).toEqual([ofWebhook]);
    clock.advance(1_000);
    expect(shadow.list(9)).toEqual([ofWebhook]);
  });

  test('end when their client is never restricted any more', () => {
    shadow.restrict({ ...invalid, kind: 'webhook', webhook: 'h1', reason: 'webhook_not_found' }, 2_000);
    shadow.restrict({ ...invalid, kind: 'principal', key: 'user:a b', reason: 'ignored_refusals' }, 1_000);
    shadow.spare(key => key === A);
    expect(shadow.list(9).map(each => each.key)).toEqual(['user:a b']);
    shadow.spare(key => key === 'user:a b');
    expect([shadow.list(9), shadow.isEmpty]).toEqual([[], true]);
  });

  test('are bounded, and leave nothing behind', () => {
    for (const key of ['1', '2', '3']) shadow.restrict({ ...invalid, key }, 1_000);
    expect(shadow.list(9)).toHaveLength(2);
    clock.advance(1_000);
    expect(shadow.isEmpty).toBe(false);
    shadow.sweep();
    expect(shadow.isEmpty).toBe(true);
    shadow.restrict({ ...invalid, key: '3' }, 1_000);
    expect(begun).toHaveLength(4);
  });
});

test('a rule that moves out of shadow keeps what it counted, and the next offence restricts', () => {
  const quiet = () => {};
  const listener = { restricted: quiet, prolonged: quiet, released: quiet, evicted: quiet };
  const restrictions = new Restrictions({ clock, listener });
  const offences = new InvalidRequests(restrictions, { clock, randomBytes, shadow });
  const rule = { quota: { units: 2, periodMs: 60_000 }, restrictForMs: 5_000 };
  offences.use({ ...rule, shadow: true });
  for (let i = 0; i < 3; i++) offences.note(A);
  expect(shadow.reasonsFor(A, null, '')).toEqual(['invalid_requests']);
  expect(restrictions.size).toBe(0);
  // A reload that changes its numbers only forgets nobody.
  offences.use({ ...rule, restrictForMs: 4_000, shadow: true });
  expect(shadow.reasonsFor(A, null, '')).toEqual(['invalid_requests']);
  offences.use({ ...rule, shadow: false });
  expect(shadow.isEmpty).toBe(true);
  expect(restrictions.size).toBe(0);
  offences.note(A);
  expect(restrictions.addressWaitMs(A)).toBe(5_000);
});
