import { describe, expect, it } from 'vitest';
import { orderOf, readPush } from '../../../../src/identity/auth/notice-token.ts';
import { START_S } from './fixture.ts';
import { PUSH } from './notices/room.ts';

const TERMS = { issuer: 'unused', tenants: null, clientId: 'gateway', nowS: START_S, leewayS: 30 };
const read = (changed: Record<string, unknown>) => readPush({ claims: { ...PUSH, ...changed } }, TERMS);
const flaw = (changed: Record<string, unknown>) => {
  const found = read(changed);
  return found.kind === 'flawed' ? (found.claim ?? found.flaw) : found.kind;
};

describe('a not-before push', () => {
  it('says from when on tokens count, and when it expires itself', () => {
    expect(read({})).toEqual({ kind: 'push', id: PUSH.id, expiresS: START_S + 30, notBeforeS: START_S });
  });

  it.each(['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'typ', 'azp', 'nonce', 'events'])(
    'is told from the issuer’s other tokens, which have %s',
    name => {
      expect(flaw({ [name]: 'anything' })).toBe('token_kind');
      expect(flaw({ [name]: null })).toBe('token_kind');
    },
  );

  it.each([
    ['action', 'LOGOUT', 'action'],
    ['action', 'push_not_before', 'action'],
    ['action', undefined, 'action'],
    ['action', ['PUSH_NOT_BEFORE'], 'action'],
    ['resource', 'another', 'audience'],
    ['resource', ['gateway'], 'resource'],
    ['resource', undefined, 'resource'],
    ['id', '', 'id'],
    ['id', 7, 'id'],
    ['id', 'x'.repeat(513), 'id'],
    ['expiration', String(START_S + 30), 'expiration'],
    ['expiration', START_S + 30.5, 'expiration'],
    ['expiration', 2 ** 53, 'expiration'],
    ['expiration', -1, 'expiration'],
    ['notBefore', String(START_S), 'notBefore'],
    ['notBefore', START_S + 0.5, 'notBefore'],
    ['notBefore', -1, 'notBefore'],
    ['notBefore', null, 'notBefore'],
    ['notBefore', START_S * 1_000, 'notBefore'],
  ])('with %s %j is refused', (name, value, expected) => {
    expect(flaw({ [name]: value })).toBe(expected);
  });

  it('is in force until it expires, give or take the leeway, and no longer than ten minutes', () => {
    expect(flaw({ expiration: START_S - 29, notBefore: 0 })).toBe('push');
    expect(flaw({ expiration: START_S - 30, notBefore: 0 })).toBe('expired');
    expect(flaw({ expiration: START_S + 630 })).toBe('push');
    expect(flaw({ expiration: START_S + 631 })).toBe('lifetime');
  });

  it('has an id of up to 512 characters, and a mark up to the moment when it expires', () => {
    expect(flaw({ id: 'x'.repeat(512) })).toBe('push');
    expect(flaw({ notBefore: START_S + 30 })).toBe('push');
    expect(flaw({ notBefore: START_S + 31 })).toBe('notBefore');
  });
});

describe('the order of pushes', () => {
  const push = (expiresS: number) => ({ kind: 'push', id: 'x', expiresS, notBeforeS: 0 }) as const;
  const nowMs = START_S * 1_000;

  it('is by when they expire, then by when they arrive', () => {
    const orders = [
      orderOf(push(START_S + 29), nowMs + 60_000),
      orderOf(push(START_S + 30), nowMs - 600_000),
      orderOf(push(START_S + 30), nowMs),
      orderOf(push(START_S + 30), nowMs + 1),
      orderOf(push(START_S + 30), nowMs + 600_000),
      orderOf(push(START_S + 31), nowMs - 600_000),
    ];
    expect(orders).toEqual(orders.toSorted((a, b) => a - b));
    expect(new Set(orders).size).toBe(orders.length);
    expect(orders.every(Number.isSafeInteger)).toBe(true);
  });

  it('stays that of whole numbers, however wrong the clock is', () => {
    for (const ms of [0, -1e15, 1e15]) {
      expect(orderOf(push(START_S), ms)).toBeGreaterThan(orderOf(push(START_S - 1), 1e15));
      expect(orderOf(push(START_S), ms)).toBeLessThan(orderOf(push(START_S + 1), 0));
    }
  });
});
