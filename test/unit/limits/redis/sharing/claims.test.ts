import { beforeEach, expect, test } from 'vitest';
import { RedisClaims, RedisError } from '../../../../../src/limits/redis/index.ts';

let isShared: boolean;
let failure: RedisError | null;
let asked: unknown[][];
let mentioned: string[];
/** What Redis holds. */
let held: Map<string, string>;

beforeEach(() => {
  isShared = true;
  failure = null;
  asked = [];
  mentioned = [];
  held = new Map();
});

function claimsWith(policy: 'local' | 'open' | 'closed'): RedisClaims {
  const connection = {
    prefix: 'p:',
    async script(_script: unknown, [key = '']: readonly string[], ...args: readonly (string | number)[]) {
      asked.push([key, ...args]);
      if (failure !== null) throw failure;
      const isNew = !held.has(key);
      if (isNew) held.set(key, String(args[0]));
      return key === 'p:nonces' ? held.get(key) : isNew ? 'OK' : null;
    },
  };
  const health = {
    get isShared() {
      return isShared;
    },
    mention: (_error: RedisError, task: string) => void mentioned.push(task),
  };
  return new RedisClaims({ connection, health, policy });
}

test('a proof is claimed once, for as long as it could be used', async () => {
  const claims = claimsWith('closed');
  expect([await claims.claimProof('a', 60_000), await claims.claimProof('a', 60_000)]).toEqual([true, false]);
  expect(await claims.claimProof('b', 0)).toBe(true);
  expect(asked).toEqual([
    ['p:proof:a', 60_000],
    ['p:proof:a', 60_000],
    ['p:proof:b', 1],
  ]);
});

test.each([
  ['local', true],
  ['open', true],
  ['closed', 'unknown'],
] as const)('without an answer the policy decides: %s', async (policy, verdict) => {
  const claims = claimsWith(policy);
  isShared = false;
  expect(await claims.claimProof('a', 60_000)).toBe(verdict);
  expect(asked).toEqual([]);
  isShared = true;
  failure = new RedisError('timeout', 'late');
  expect(await claims.claimProof('a', 60_000)).toBe(verdict);
  expect(mentioned).toEqual(['claim a proof']);
});

test('the secret of the first is that of all, and nonsense is none', async () => {
  const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const claims = claimsWith('local');
  expect(await claims.commonSecret(first)).toEqual(first);
  expect(await claims.commonSecret(second)).toEqual(first);
  held.set('p:nonces', 'short');
  expect(await claims.commonSecret(second)).toBeNull();
  isShared = false;
  expect(await claims.commonSecret(second)).toBeNull();
});
