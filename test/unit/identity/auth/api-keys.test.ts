import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Clock, ownMemory } from '../../../../src/core/index.ts';
import {
  type ApiKeyLine,
  type ApiKeyOptions,
  ApiKeys,
  apiKeyOf,
  digestOfApiKey,
  isPrincipal,
  type Requirement,
  shortfallOf,
  VerificationBudget,
} from '../../../../src/identity/auth/index.ts';
import { BUDGET_OPTIONS } from '../../../support/identity-options.ts';
import { secret } from '../../../support/secrets.ts';
import { ADDRESS, Recorder } from './fixture.ts';

let nowMs = 1_000_000;
const clock: Clock = { epochMs: () => nowMs, monotonicMs: () => nowMs };

beforeEach(() => {
  nowMs = 1_000_000;
});

const newKey = () => secret(apiKeyOf(randomBytes(32)));

function line(keys: readonly string[], more: Partial<ApiKeyLine> = {}): ApiKeyLine {
  const plain = { class: null, isBot: false, scopes: [], roles: [], notAfterMs: null };
  return { name: 'partner-7', digests: keys.map(digestOfApiKey), ...plain, ...more };
}

function open(
  lines: readonly ApiKeyLine[],
  more: Partial<ApiKeyOptions> & { readonly limit?: number; readonly before?: ApiKeys } = {},
) {
  const { limit = 1_000, before = null, ...options } = more;
  const recorder = new Recorder();
  const budget = new VerificationBudget({ ...BUDGET_OPTIONS, limit }, clock, ownMemory(randomBytes), 'keys');
  const parts = { budget, clock, listener: recorder };
  const keys = new ApiKeys({ lines, identityHeaders: [], requirements: [], ...options }, parts, before);
  const callerBy = (key: string) => {
    const verdict = keys.verify(key, ADDRESS);
    if (verdict.kind === 'invalid' || verdict.kind === 'spent') throw new Error(verdict.kind);
    return verdict;
  };
  return { keys, recorder, callerBy };
}

describe('an API key', () => {
  it('is the prefix and 256 random bits in base64url, and no two are alike', () => {
    const keys = Array.from({ length: 50 }, newKey);
    for (const key of keys) expect(key).toMatch(/^weir_[\w-]{43}$/);
    expect(new Set(keys).size).toBe(50);
    expect(digestOfApiKey('weir_')).toMatch(/^[0-9a-f]{64}$/);
  });

  it('makes the caller of its line, in its class, under a principal that no token has', () => {
    const [first, second, robot] = [newKey(), newKey(), newKey()];
    const { callerBy } = open([
      line([first, second], { class: 'partner' }),
      line([robot], { name: 'robot', isBot: true }),
    ]);
    for (const key of [first, second])
      expect(callerBy(key)).toMatchObject({ principal: 'key:partner-7', kind: 'user', class: 'partner' });
    expect(callerBy(robot)).toMatchObject({ principal: 'key:robot', kind: 'bot', class: 'bot' });
    expect(isPrincipal('key:partner-7')).toBe(true);
  });

  it('says its name in the fields that map sub or azp, and has no other claim', () => {
    const key = newKey();
    const identityHeaders = [
      { name: 'X-Sub', claim: 'sub' },
      { name: 'X-Client', claim: 'azp' },
      { name: 'X-Plan', claim: 'plan' },
    ];
    const { identityFields, claims } = open([line([key])], { identityHeaders }).callerBy(key);
    expect(identityFields).toEqual(['X-Sub', 'partner-7', 'X-Client', 'partner-7']);
    expect(claims).toEqual({});
  });

  it('meets requirements by the scopes and roles of its line alone', () => {
    const needs = (part: Partial<Requirement>, index: number): Requirement => ({
      ...{ index, scopes: [], roles: [], claims: [] },
      ...part,
    });
    const requirements = [
      needs({ scopes: ['a'] }, 0),
      needs({ scopes: ['c'] }, 1),
      needs({ roles: [{ client: null, name: 'clerk' }] }, 2),
      needs({ roles: [{ client: 'shop', name: 'admin' }] }, 3),
      needs({ roles: [{ client: null, name: 'admin' }] }, 4),
      needs({ claims: [{ claim: 'scope', values: ['a'] }] }, 5),
      needs({ claims: [{ claim: 'sub', values: ['partner-7'] }] }, 6),
    ];
    const key = newKey();
    const roles = [
      { client: null, name: 'clerk' },
      { client: 'shop', name: 'admin' },
    ];
    const caller = open([line([key], { scopes: ['a', 'b'], roles })], { requirements }).callerBy(key);
    expect(requirements.map(each => shortfallOf(caller, each))).toEqual([
      ...[null, 'scopes', null, null, 'roles', 'claims', 'claims'],
    ]);
  });

  it('is refused from its not_after on', () => {
    const key = newKey();
    const { keys, callerBy } = open([line([key], { notAfterMs: nowMs + 1_000 })]);
    const caller = callerBy(key);
    nowMs += 999;
    expect(keys.verify(key, ADDRESS)).toBe(caller);
    nowMs += 1;
    expect(keys.verify(key, ADDRESS)).toMatchObject({ reason: 'expired', principal: 'key:partner-7' });
    expect(keys.remembered(key)).toBeNull();
  });
});

describe('a text that is no valid key', () => {
  it('is refused for free if it cannot be one', () => {
    const key = newKey();
    const { keys } = open([line([key])], { limit: 1 });
    const good = key.slice(5);
    for (const text of [
      '',
      'x',
      good,
      `${key}=`,
      `${key}a`,
      key.slice(0, -1),
      ` ${key}`,
      key.toUpperCase(),
      'x'.repeat(99_999),
    ])
      for (let i = 0; i < 20; i += 1)
        expect(keys.verify(text, ADDRESS)).toMatchObject({ reason: 'malformed' });
    expect(keys.verify(key, ADDRESS)).toMatchObject({ principal: 'key:partner-7' });
  });

  it('draws on the budget of its address if it could be one, while known keys keep passing', () => {
    const key = newKey();
    const { keys, recorder } = open([line([key])], { limit: 5 });
    const kinds = Array.from({ length: 30 }, () => keys.verify(newKey(), ADDRESS));
    // Five, and ten in the second after that.
    expect(kinds.filter(each => each.kind === 'invalid' && each.reason === 'unknown_api_key')).toHaveLength(
      15,
    );
    expect(kinds.filter(each => each.kind === 'spent')).toHaveLength(15);
    expect(recorder.count('budgetSpent')).toBe(15);
    expect(keys.verify(key, ADDRESS)).toMatchObject({ principal: 'key:partner-7' });
    expect(keys.verify(newKey(), '198.51.100.1')).toMatchObject({ reason: 'unknown_api_key' });
  });

  it('may be the digest itself', () => {
    const key = newKey();
    const { keys } = open([line([key])]);
    expect(keys.verify(digestOfApiKey(key), ADDRESS)).toMatchObject({ reason: 'malformed' });
  });
});

describe('the streams of a key', () => {
  const [first, second] = [newKey(), newKey()];

  /** The first configuration in use, and what a stream keeps of it. */
  function begin(key = first) {
    const { keys, callerBy } = open([line([first, second])]);
    keys.serve();
    return { keys, caller: callerBy(key), stream: keys.inUse };
  }

  it('go on while a later file has its line with this key, whatever else changes', () => {
    const { keys, caller, stream } = begin();
    const lines = [line([first], { class: 'partner' }), line([newKey()], { name: 'other' })];
    const next = open(lines, { before: keys }).keys;
    expect(stream.endOf(caller)).toBeNull();
    next.serve();
    expect(stream.endOf(caller)).toBeNull();
  });

  it.each([
    ['the line goes', []],
    ['the key goes, and another stays', [line([second])]],
    ['the key belongs to another name', [line([first], { name: 'other' })]],
  ])('end when %s', (_, lines) => {
    const { keys, caller, stream } = begin();
    const between = open([line([first, second])], { before: keys }).keys;
    between.serve();
    expect(stream.endOf(caller)).toBeNull();
    const last = open(lines, { before: between }).keys;
    // One that waits for its provider says nothing yet.
    expect(stream.endOf(caller)).toBeNull();
    last.serve();
    expect(stream.endOf(caller)).toBe('inactive');
  });

  it('end when the line expires', () => {
    const { keys, caller, stream } = begin();
    open([line([first], { notAfterMs: nowMs + 1_000 })], { before: keys }).keys.serve();
    expect(stream.endOf(caller)).toBeNull();
    nowMs += 1_000;
    expect(stream.endOf(caller)).toBe('expired');
  });

  it('end when there are no keys any more', () => {
    const { keys, caller, stream } = begin();
    keys.retire();
    expect(stream.endOf(caller)).toBe('inactive');
  });
});
