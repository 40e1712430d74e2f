import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { digestOf } from '../../../../src/core/index.ts';
import type { Caller } from '../../../../src/identity/auth/index.ts';
import { sessionDigest } from '../../../../src/identity/auth/revocation-rules.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { base64Url, issuerKey, type SigningAlgorithm, signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  claims,
  ecdsa,
  freezeTime,
  openRoom,
  type Room,
  type RoomOptions,
  rsa,
  rsaNext,
  ScriptedIssuer,
  START_S,
} from './fixture.ts';

let room: Room;

async function open(issuer = new ScriptedIssuer(rsa, ecdsa), changed: RoomOptions = {}): Promise<Room> {
  room = await openRoom(issuer, changed);
  return room;
}

beforeEach(freezeTime);

afterEach(() => {
  room.keys.close();
  vi.useRealTimers();
});

/** Claims of a token that is older than the keys, so that no newer key can have signed it. */
const older = { ...claims, iat: START_S - 31 };

/** A token whose claims are good and whose signature is not. */
function forged(
  header: Readonly<Record<string, unknown>>,
  changed: Readonly<Record<string, unknown>> = {},
): string {
  return `${base64Url(JSON.stringify(header))}.${base64Url(JSON.stringify({ ...older, ...changed }))}.${'A'.repeat(342)}`;
}

describe('a good token', () => {
  it.each<SigningAlgorithm>(['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'])(
    'signed with %s becomes a caller at once, without a promise',
    async alg => {
      const key = issuerKey(alg, 'key');
      const { verifier } = await open(new ScriptedIssuer(key));
      expect(verifier.verify(signToken(key, claims), ADDRESS)).toMatchObject({
        kind: 'user',
        principal: 'user:web ada',
      });
    },
  );

  it('is checked once, then known, as the same caller', async () => {
    const { verifier, recorder } = await open();
    const token = signToken(rsa, claims);
    const first = verifier.verify(token, ADDRESS);
    for (let i = 0; i < 10; i += 1) expect(verifier.verify(token, ADDRESS)).toBe(first);
    expect(recorder.events.filter(([name]) => name === 'signatureChecked')).toEqual([
      ['signatureChecked', 'RS256', true],
    ]);
    expect(recorder.count('tokenKnown')).toBe(10);
  });

  it('is remembered once it was verified, until it is no longer accepted', async () => {
    const { verifier, recorder, revocations } = await open();
    const [ada = '', bob = ''] = ['ada', 'bob'].map(sub => signToken(rsa, { ...claims, sub }));
    const remembered = () => [ada, bob].map(token => verifier.remembered(token)?.principal ?? null);
    verifier.verify(ada, ADDRESS);
    expect(remembered()).toEqual(['user:web ada', null]);
    verifier.verify(bob, ADDRESS);
    revocations.revokeSubject('ada', START_S + 1);
    expect(remembered()).toEqual([null, 'user:web bob']);
    vi.advanceTimersByTime(330_000);
    expect(remembered()).toEqual([null, null]);
    expect(recorder.count('tokenKnown')).toBe(2);
  });

  it('of a bot becomes a bot', async () => {
    const { judge } = await open();
    expect(await judge(signToken(rsa, { ...claims, client_id: 'web' }))).toBe('bot web');
  });

  it('is refused from the moment it expires, although it is known', async () => {
    const { judge } = await open();
    const token = signToken(rsa, claims);
    expect(await judge(token)).toBe('user web ada');
    vi.advanceTimersByTime(329_999);
    expect(await judge(token)).toBe('user web ada');
    vi.advanceTimersByTime(1);
    expect(await judge(token)).toBe('invalid expired');
  });

  it('is refused from the moment a mark overtakes it, although it is known', async () => {
    const { judge, revocations } = await open();
    const ada = signToken(rsa, claims);
    const bob = signToken(rsa, { ...claims, sub: 'bob' });
    await judge(ada);
    await judge(bob);
    revocations.revokeSubject('ada', START_S + 1);
    expect([await judge(ada), await judge(bob)]).toEqual(['invalid not_before', 'user web bob']);
    revocations.use({ notBeforeS: START_S + 1, leewayS: 30, maxLifetimeS: null });
    expect([await judge(ada), await judge(bob)]).toEqual(['invalid not_before', 'invalid not_before']);
    expect(await judge(signToken(rsa, { ...claims, iat: START_S + 1 }))).toBe('user web ada');
  });

  it('is refused from the moment its session ends, although it is known, and no other session’s is', async () => {
    const { judge, revocations } = await open();
    const [one, other] = ['s1', 's2'].map(sid => signToken(rsa, { ...claims, sid }));
    expect([await judge(one ?? ''), await judge(other ?? '')]).toEqual(['user web ada', 'user web ada']);
    revocations.endSession(sessionDigest('s1'));
    expect([await judge(one ?? ''), await judge(other ?? '')]).toEqual([
      'invalid signed_out',
      'user web ada',
    ]);
    expect(await judge(signToken(rsa, { ...claims, sid: 's1', jti: 'never seen' }))).toBe(
      'invalid signed_out',
    );
  });

  it('says how long the revocations that concern it have to be kept', async () => {
    const { judge, revocations } = await open();
    await judge(signToken(rsa, { ...claims, exp: START_S + 30 * 86_400 }));
    // With the leeway, in whole hours.
    expect(revocations.facts).toMatchObject({ keptForS: 30 * 86_400 + 3_600, keptBy: 'longest token seen' });
    revocations.revokeSubject('ada', START_S + 1);
    vi.setSystemTime((START_S + 29 * 86_400) * 1_000);
    revocations.revokeSubject('bob', START_S);
    expect(await judge(signToken(rsa, { ...claims, exp: START_S + 30 * 86_400 }))).toBe('invalid not_before');
  });

  it('without kid is checked with the keys that fit its algorithm', async () => {
    const { judge } = await open(new ScriptedIssuer(rsa, rsaNext, ecdsa));
    expect(await judge(signToken({ ...rsaNext, kid: null }, claims))).toBe('user web ada');
    expect(await judge(signToken({ ...ecdsa, kid: null }, claims))).toBe('user web ada');
  });

  it('stays valid for code that remembers its caller, until it expires, is revoked or loses its key', async () => {
    const { verifier, revocations, keys, issuer } = await open();
    const remember = (key = rsa) => {
      const verdict = verifier.verify(signToken(key, claims), ADDRESS);
      if (verdict instanceof Promise || verdict.kind !== 'user') throw new Error('refused');
      return verdict satisfies Caller;
    };
    const caller = remember();
    expect(verifier.accepts(caller)).toBe(true);
    revocations.revokeSubject('ada', START_S + 1);
    expect([verifier.accepts(caller), verifier.endOf(caller)]).toEqual([false, 'not_before']);
    const other = { ...caller, subject: digestOf('bob'), passedVersion: 0 };
    expect([verifier.accepts(other), verifier.endOf(other)]).toEqual([true, null]);
    issuer.keys = [ecdsa];
    await keys.refresh();
    expect([verifier.accepts(other), verifier.endOf(other)]).toEqual([false, null]);
    vi.advanceTimersByTime(330_000);
    expect(verifier.accepts({ ...other, key: caller.key })).toBe(false);
  });
});

describe('a bad token', () => {
  it('with a signature by another key is refused', async () => {
    const { judge } = await open();
    expect(await judge(signToken({ ...rsaNext, kid: 'rsa-1' }, older))).toBe('invalid signature');
    expect(await judge(signToken({ ...issuerKey('ES256', 'ec-1') }, older))).toBe('invalid signature');
  });

  it.each([
    ['none', { alg: 'none' }],
    ['HS256', { alg: 'HS256', kid: 'rsa-1' }],
    ['ES256 under the name of an RSA key', { alg: 'ES256', kid: 'rsa-1' }],
    ['PS256 under the name of a key for RS256', { alg: 'PS256', kid: 'rsa-1' }],
  ])('with the algorithm %s is refused without any check or fetch', async (_, header) => {
    const { judge, recorder, issuer } = await open();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await judge(forged(header))).toBe('invalid algorithm');
    expect([recorder.count('signatureChecked'), issuer.fetches]).toEqual([0, 1]);
  });

  it.each(['jwk', 'jku', 'x5u', 'x5c'])(
    'that brings its own key in %s is judged by the issuer’s',
    async name => {
      const { judge } = await open();
      const value = {
        jwk: rsaNext.jwk,
        jku: 'http://127.0.0.1:1/',
        x5u: 'http://127.0.0.1:1/',
        x5c: ['MII'],
      }[name];
      expect(await judge(signToken({ ...rsaNext, kid: 'rsa-1' }, older, { [name]: value }))).toBe(
        'invalid signature',
      );
    },
  );

  it.each([
    ...['../../etc/passwd', "' OR 1=1 --", '__proto__', 'constructor', '\u0000', 'https://evil.example/key'],
  ])('with the key id %j is refused as signed by an unknown key', async kid => {
    const { judge } = await open();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await judge(forged({ alg: 'RS256', kid }))).toBe('invalid unknown_key');
  });

  it('is refused for its claims before its signature is checked', async () => {
    const { judge, recorder } = await open();
    const token = (changed: object) => forged({ alg: 'RS256', kid: 'rsa-1' }, { ...changed });
    expect(await judge(token({ exp: START_S - 31 }))).toBe('invalid expired');
    expect(await judge(token({ iss: 'https://evil.example' }))).toBe('invalid issuer');
    expect(await judge(token({ aud: 'other' }))).toBe('invalid audience');
    expect(await judge(token({ typ: 'ID' }))).toBe('invalid token_kind');
    expect(recorder.count('signatureChecked')).toBe(0);
  });

  it('without a claim of its principal is refused by the name of the claim, once its signature is proved', async () => {
    const { judge } = await open();
    expect(await judge(signToken(rsa, { ...claims, azp: undefined }))).toBe('invalid claim azp');
    expect(await judge(forged({ alg: 'RS256', kid: 'rsa-1' }, { azp: undefined }))).toBe('invalid signature');
  });

  it('is remembered for ten seconds, so that repeating it costs no check', async () => {
    const { judge, recorder } = await open();
    const bad = [forged({ alg: 'RS256', kid: 'rsa-1' }), signToken(rsa, { ...claims, sub: undefined })];
    for (let i = 0; i < 50; i += 1) for (const token of bad) await judge(token);
    expect(recorder.events.filter(([name]) => name === 'signatureChecked')).toEqual([
      ['signatureChecked', 'RS256', false],
      ['signatureChecked', 'RS256', true],
    ]);
    expect(recorder.count('tokenRefused')).toBe(100);
    vi.advanceTimersByTime(9_999);
    for (const token of bad) await judge(token);
    expect(recorder.count('signatureChecked')).toBe(2);
    vi.advanceTimersByTime(1);
    for (const token of bad) await judge(token);
    // A wrong signature is checked again with the keys that it had fetched.
    expect(recorder.count('signatureChecked')).toBe(5);
  });

  it('is forgotten when another key set comes', async () => {
    const { judge, issuer, keys } = await open();
    const token = signToken({ ...rsaNext, kid: 'rsa-1' }, older);
    expect(await judge(token)).toBe('invalid signature');
    issuer.keys = [{ ...rsaNext, jwk: { ...rsaNext.jwk, kid: 'rsa-1' } }];
    await keys.refresh();
    expect(await judge(token)).toBe('user web ada');
  });
});

describe('what is remembered', () => {
  it('is bounded for good and for bad tokens', async () => {
    const key = issuerKey('EdDSA', 'ed');
    const { judge, recorder } = await open(new ScriptedIssuer(key), {
      cache: { maxTokens: 50, maxRefused: 20 },
      budget: null,
    });
    const good = (number: number) => signToken(key, { ...claims, jti: number });
    const bad = (number: number) => forged({ alg: 'EdDSA', kid: 'ed' }, { jti: number });
    for (const [token, bound] of [
      [good, 50],
      [bad, 20],
    ] as const) {
      for (let i = 0; i <= bound; i += 1) await judge(token(i));
      const checkedBefore = recorder.count('signatureChecked');
      await judge(token(bound));
      expect(recorder.count('signatureChecked')).toBe(checkedBefore);
      await judge(token(0));
      expect(recorder.count('signatureChecked')).toBe(checkedBefore + 1);
    }
  });
});

describe('the budget of failed verifications', () => {
  const bad = (number: number) => forged({ alg: 'RS256', kid: 'rsa-1' }, { jti: number });

  it('bounds the signatures that an address can have checked, and hinders no known token and no other address', async () => {
    const { judge, recorder } = await open();
    const known = signToken(rsa, claims);
    await judge(known);
    for (let i = 0; i < 5_000; i += 1) await judge(bad(i));
    expect(recorder.count('signatureChecked')).toBe(1 + 1_000 + 10);
    expect(recorder.count('budgetSpent')).toBe(3_990);
    expect(await judge(bad(6_000))).toBe('spent 60000');
    expect(await judge(known)).toBe('user web ada');
    expect(await judge(signToken(rsa, { ...claims, sub: 'bob' }))).toBe('spent 60000');
    expect(await judge(signToken(rsa, { ...claims, sub: 'bob' }), '192.0.2.2')).toBe('user web bob');
    vi.advanceTimersByTime(1_000);
    expect(await judge(signToken(rsa, { ...claims, sub: 'bob' }))).toBe('user web bob');
  });

  it('is not drawn on by good tokens', async () => {
    const key = issuerKey('EdDSA', 'ed');
    const { judge } = await open(new ScriptedIssuer(key), { budget: { limit: 1 } });
    for (let i = 0; i < 100; i += 1)
      expect(await judge(signToken(key, { ...claims, jti: i }))).toBe('user web ada');
  });

  it('is neither drawn on nor asked for malformed and expired tokens', async () => {
    const { judge } = await open(undefined, { budget: { limit: 1, checksPerSecond: 0 } });
    for (let i = 0; i < 100; i += 1) await judge(forged({ alg: 'RS256', kid: 'rsa-1' }, { exp: i }));
    for (let i = 0; i < 100; i += 1) await judge(`garbage ${i}`);
    expect(await judge(signToken(rsa, claims))).toBe('user web ada');
    await judge(bad(1));
    expect(await judge(bad(2))).toBe('spent 60000');
    expect(await judge('garbage')).toBe('invalid malformed');
    expect(await judge(forged({ alg: 'RS256', kid: 'rsa-1' }, { exp: 1 }))).toBe('invalid expired');
  });

  it('does not hold up what waited for a key when it was spent', async () => {
    const { judge, issuer, keys } = await open(undefined, { budget: { limit: 1, checksPerSecond: 0 } });
    await vi.advanceTimersByTimeAsync(5_000);
    issuer.keys = [rsa, rsaNext];
    const waiting = [judge(signToken(rsaNext, claims)), judge(signToken(rsaNext, { ...claims, sub: 'bob' }))];
    expect(keys.fetching).toBe(true);
    expect(await judge(bad(1))).toBe('invalid signature');
    expect(await judge(bad(2))).toBe('spent 60000');
    expect(await Promise.all(waiting)).toEqual(['user web ada', 'user web bob']);
  });

  it('does not hold up a token that has passed in another thread', async () => {
    const [ofMain, ofWorker] = threadsOf(2);
    const budget = { limit: 1, checksPerSecond: 0 };
    const { judge } = await open(undefined, { budget, memory: ofMain });
    const other = await openRoom(new ScriptedIssuer(rsa), { budget, memory: ofWorker });
    const [known, unknown] = ['ada', 'bob'].map(sub => signToken(rsa, { ...claims, sub }));
    await other.judge(known ?? '');
    await other.judge(bad(1));
    expect([await judge(unknown ?? ''), await judge(known ?? '')]).toEqual(['spent 60000', 'user web ada']);
    other.keys.close();
  });

  it('is drawn on by each key that a signature was checked with', async () => {
    const issuer = new ScriptedIssuer(rsa, rsaNext);
    const { judge } = await open(issuer, { budget: { limit: 4, checksPerSecond: 0 } });
    for (let i = 0; i < 2; i += 1)
      expect(await judge(forged({ alg: 'RS256' }, { jti: i }))).toBe('invalid signature');
    expect(await judge(forged({ alg: 'RS256' }, { jti: 2 }))).toBe('spent 60000');
  });

  it('is drawn on by unknown keys, whatever the response', async () => {
    const { judge } = await open(undefined, { budget: { limit: 20, checksPerSecond: 0 } });
    for (let i = 0; i < 10; i += 1) {
      expect(await judge(forged({ alg: 'RS256', kid: `new-${i}` }, { iat: START_S }))).toBe('unavailable 5');
      expect(await judge(forged({ alg: 'RS256', kid: `old-${i}` }, { iat: 1 }))).toBe('invalid unknown_key');
    }
    expect(await judge(forged({ alg: 'RS256', kid: 'one-more' }))).toBe('spent 60000');
  });

  it('is not drawn on while no key set was ever loaded', async () => {
    const issuer = new ScriptedIssuer(rsa);
    issuer.state = 'failing';
    const { judge } = await open(issuer, { budget: { limit: 1, checksPerSecond: 0 } });
    for (let i = 0; i < 10; i += 1) expect(await judge(signToken(rsa, claims))).toBe('unavailable 5');
    issuer.state = 'up';
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await judge(signToken(rsa, claims))).toBe('user web ada');
  });
});
