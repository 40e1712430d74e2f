import { beforeEach, expect, test } from 'vitest';
import {
  type Restriction,
  type RestrictionListener,
  type RestrictionReason,
  Restrictions,
} from '../../../src/limits/index.ts';
import { FrozenClock } from './frozen-clock.ts';

let clock: FrozenClock;
let heard: string[];
let restrictions: Restrictions;

beforeEach(() => {
  clock = new FrozenClock();
  heard = [];
  restrictions = new Restrictions({ clock, listener: new Ears(), maxRestrictions: 3 });
});

class Ears implements RestrictionListener {
  restricted(restriction: Restriction): void {
    heard.push(`restricted ${restriction.kind} ${restriction.key} for ${restriction.reason}`);
  }
  released(restriction: Restriction): void {
    heard.push(`released ${restriction.kind} ${restriction.key}`);
  }
  noRoom(restriction: Restriction): void {
    heard.push(`no room for ${restriction.key}`);
  }
}

function restrictAddress(by: Restrictions, key: string, reason: RestrictionReason, forMs: number): void {
  by.restrict({ kind: 'address', key, webhook: '', reason }, forMs);
}

function restrictPrincipal(by: Restrictions, key: string, reason: RestrictionReason, forMs: number): void {
  by.restrict({ kind: 'principal', key, webhook: '', reason }, forMs);
}

function restrictWebhook(
  by: Restrictions,
  key: string,
  webhook: string,
  reason: RestrictionReason,
  forMs: number,
): void {
  by.restrict({ kind: 'webhook', key, webhook, reason }, forMs);
}

test('nobody is restricted at first', () => {
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(0);
  expect(restrictions.principalWaitMs('user:a')).toBe(0);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'abc')).toBe(0);
});

test('an address is refused until its time is over', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 600_000);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(600_000);
  expect(restrictions.addressWaitMs('192.0.2.2')).toBe(0);
  clock.advance(599_979);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(21);
  clock.advance(1);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(0);
});

test('a step of the wall clock does not change how long', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 600_000);
  clock.stepWorld(3_600_000);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(600_000);
});

test('a listener hears who is restricted, why, and when it is over', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  restrictPrincipal(restrictions, 'user:a', 'ignored_refusals', 2_000);
  clock.advance(1_000);
  restrictions.sweep();
  expect(heard).toEqual([
    'restricted address 192.0.2.1 for invalid_requests',
    'restricted principal user:a for ignored_refusals',
    'released address 192.0.2.1',
  ]);
  clock.advance(1_000);
  restrictions.sweep();
  expect(heard.slice(3)).toEqual(['released principal user:a']);
  expect(restrictions.size).toBe(0);
});

test('a release is heard once, whether a look or the sweep comes first', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  clock.advance(1_000);
  restrictions.addressWaitMs('192.0.2.1');
  restrictions.sweep();
  restrictions.addressWaitMs('192.0.2.1');
  expect(heard.filter(line => line.startsWith('released'))).toHaveLength(1);
});

test('a restriction tells its end in the time of the world', () => {
  const ends: number[] = [];
  const listener = {
    restricted: (r: Restriction) => ends.push(r.untilEpochMs),
    released: () => {},
    noRoom: () => {},
  };
  restrictAddress(new Restrictions({ clock, listener }), '192.0.2.1', 'invalid_requests', 600_000);
  expect(ends).toEqual([1_700_000_600_000]);
});

test('a principal, an address and a webhook of the same text are apart', () => {
  restrictPrincipal(restrictions, 'x', 'ignored_refusals', 1_000);
  expect(restrictions.addressWaitMs('x')).toBe(0);
  expect(restrictions.webhookWaitMs('x', 'abc')).toBe(0);
});

test('an address on one webhook is refused there only, and nobody else is', () => {
  restrictWebhook(restrictions, '192.0.2.1', 'abc', 'webhook_not_found', 1_000);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'abc')).toBe(1_000);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'def')).toBe(0);
  expect(restrictions.webhookWaitMs('192.0.2.2', 'abc')).toBe(0);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(0);
});

test('a second restriction may make the first longer, never shorter', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 5_000);
  restrictAddress(restrictions, '192.0.2.1', 'ignored_refusals', 1_000);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(5_000);
  restrictAddress(restrictions, '192.0.2.1', 'ignored_refusals', 9_000);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(9_000);
  expect(restrictions.size).toBe(1);
});

test('an address on the allow list is never restricted', () => {
  restrictions.neverRestrict(address => address === '192.0.2.1');
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  restrictWebhook(restrictions, '192.0.2.1', 'abc', 'webhook_not_found', 1_000);
  restrictAddress(restrictions, '192.0.2.2', 'invalid_requests', 1_000);
  expect(restrictions.size).toBe(1);
  expect(restrictions.isExempt('192.0.2.1')).toBe(true);
});

test('an address that comes onto the allow list is released', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  restrictAddress(restrictions, '192.0.2.2', 'invalid_requests', 1_000);
  restrictWebhook(restrictions, '192.0.2.1', 'abc', 'webhook_not_found', 1_000);
  restrictions.neverRestrict(address => address === '192.0.2.1');
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(0);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'abc')).toBe(0);
  expect(restrictions.addressWaitMs('192.0.2.2')).toBe(1_000);
  expect(heard.filter(line => line.startsWith('released'))).toHaveLength(2);
});

test('when there is no room, one more is not made, and the ones that run stay', () => {
  for (const n of [1, 2, 3, 4]) restrictAddress(restrictions, `192.0.2.${n}`, 'invalid_requests', 1_000);
  expect(heard.at(-1)).toBe('no room for 192.0.2.4');
  expect([1, 2, 3, 4].map(n => restrictions.addressWaitMs(`192.0.2.${n}`))).toEqual([1_000, 1_000, 1_000, 0]);
});

test('one that is over makes room', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  for (const n of [2, 3]) restrictAddress(restrictions, `192.0.2.${n}`, 'invalid_requests', 9_000);
  clock.advance(1_000);
  restrictAddress(restrictions, '192.0.2.4', 'invalid_requests', 9_000);
  expect([1, 2, 3, 4].map(n => restrictions.addressWaitMs(`192.0.2.${n}`))).toEqual([0, 8_000, 8_000, 9_000]);
});

test('one that is held can be made longer when there is no room', () => {
  for (const n of [1, 2, 3]) restrictAddress(restrictions, `192.0.2.${n}`, 'invalid_requests', 1_000);
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 5_000);
  expect(restrictions.addressWaitMs('192.0.2.1')).toBe(5_000);
});
