import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeySet, type KeySetFetcher } from '../../../../src/identity/auth/index.ts';
import { KeySetError } from '../../../../src/identity/auth/token/jwk.ts';
import { KEY_SET_OPTIONS } from '../../../support/identity-options.ts';
import { issuerKey, keySetJson, type SigningAlgorithm } from '../../../support/token-issuer.ts';
import { clock, ecdsa, freezeTime, Recorder, rsa, rsaNext, ScriptedIssuer, START_MS } from './fixture.ts';

let recorder: Recorder;
let keySet: KeySet;

function open(fetch: KeySetFetcher, random = () => 0): KeySet {
  keySet = new KeySet(KEY_SET_OPTIONS, { fetch, clock, random, listener: recorder });
  return keySet;
}

beforeEach(() => {
  freezeTime();
  recorder = new Recorder();
});

afterEach(() => {
  keySet.close();
  vi.useRealTimers();
});

const candidates = (algorithm: SigningAlgorithm, keyId: string | null, thumbprint: string | null = null) =>
  keySet.candidates({ algorithm, keyId, thumbprint, claims: {} }, null);
const ids = () => candidates('RS256', null).map(key => key.id);

describe('the key set', () => {
  it('is loaded after the first good fetch and not before', async () => {
    const issuer = new ScriptedIssuer(rsa);
    issuer.state = 'failing';
    open(issuer.fetch);
    expect(await keySet.refresh()).toBe(false);
    expect(keySet.loaded).toBe(false);
    issuer.state = 'up';
    expect(await keySet.refresh()).toBe(true);
    expect(keySet.loaded).toBe(true);
    expect(recorder.events.at(-1)).toEqual(['keySetLoaded', 1, 0, []]);
  });

  it('is fetched every ten minutes', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    await vi.advanceTimersByTimeAsync(599_999);
    expect(issuer.fetches).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(issuer.fetches).toBe(2);
    await vi.advanceTimersByTimeAsync(6_000_000);
    expect(issuer.fetches).toBe(12);
  });

  it('is fetched ten minutes after the last fetch, whatever caused that', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    for (let i = 0; i < 5; i += 1) {
      await vi.advanceTimersByTimeAsync(60_000);
      await keySet.refresh();
    }
    await vi.advanceTimersByTimeAsync(599_999);
    expect(issuer.fetches).toBe(6);
    await vi.advanceTimersByTimeAsync(6_000_001);
    expect(issuer.fetches).toBe(17);
  });

  it('is fetched randomly up to a tenth earlier', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch, () => 0.5).refresh();
    await vi.advanceTimersByTimeAsync(569_999);
    expect(issuer.fetches).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(issuer.fetches).toBe(2);
  });

  it('is tried again after 5, 10 and then every 20 seconds when a fetch fails', async () => {
    const issuer = new ScriptedIssuer(rsa);
    issuer.state = 'failing';
    await open(issuer.fetch).refresh();
    const moments: number[] = [];
    for (let second = 1; second <= 80; second += 1) {
      const before = issuer.fetches;
      await vi.advanceTimersByTimeAsync(1_000);
      if (issuer.fetches > before) moments.push(second);
    }
    expect(moments).toEqual([5, 15, 35, 55, 75]);
    issuer.state = 'up';
    await vi.advanceTimersByTimeAsync(20_000);
    expect(keySet.loaded).toBe(true);
  });

  it('stays in use however long the issuer is away', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    issuer.state = 'failing';
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(recorder.count('keySetFailed')).toBeGreaterThan(1_000);
    expect(ids()).toEqual(['rsa-1']);
    expect(keySet.asOfMs).toBe(START_MS);
  });

  it('adds new keys and drops those no longer published', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    const [old] = candidates('RS256', 'rsa-1');
    if (old === undefined) throw new Error('no key');
    issuer.keys = [rsa, rsaNext];
    await keySet.refresh();
    expect(keySet.holds(old)).toBe(true);
    expect(ids()).toEqual(['rsa-1', 'rsa-2']);
    issuer.keys = [rsaNext];
    await keySet.refresh();
    expect(keySet.holds(old)).toBe(false);
    expect(keySet.knows({ keyId: 'rsa-1', thumbprint: null })).toBe(false);
  });

  it('treats another key under a known id as another key', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    const [old] = candidates('RS256', 'rsa-1');
    issuer.keys = [{ ...rsaNext, jwk: { ...rsaNext.jwk, kid: 'rsa-1' } }];
    await keySet.refresh();
    expect(old !== undefined && keySet.holds(old)).toBe(false);
    expect(keySet.knows({ keyId: 'rsa-1', thumbprint: null })).toBe(true);
  });

  it.each([
    ['an empty set', '{"keys":[]}'],
    ['an error page', '<html>'],
    ['nothing', ''],
    ['too many bytes', keySetJson([rsaNext]).padEnd(1_048_577)],
    ['too many keys', keySetJson(new Array(501).fill(rsaNext))],
  ])('keeps its last good keys when the issuer answers with %s', async (_, response) => {
    let text = keySetJson([rsa]);
    await open(async () => text).refresh();
    text = response;
    expect(await keySet.refresh()).toBe(false);
    expect(ids()).toEqual(['rsa-1']);
    expect(recorder.events.at(-1)).toEqual(['keySetFailed', expect.any(KeySetError)]);
  });

  it('may come as bytes', async () => {
    // As many as are accepted.
    await open(async () => new TextEncoder().encode(keySetJson([rsa]).padEnd(262_144))).refresh();
    expect(ids()).toEqual(['rsa-1']);
  });

  it('takes a set of five hundred keys, as large tenants publish', async () => {
    const keys = Array.from({ length: 500 }, (_, i) => ({ ...rsa, jwk: { ...rsa.jwk, kid: `rsa-${i}` } }));
    expect(await open(async () => keySetJson(keys)).refresh()).toBe(true);
    expect(candidates('RS256', 'rsa-499')).toHaveLength(1);
  });

  it('offers the keys with the id that fit the algorithm, or without an id at most sixteen that fit', async () => {
    const shared = { ...ecdsa, jwk: { ...ecdsa.jwk, kid: 'rsa-1' } };
    const many = Array.from({ length: 20 }, (_, index) => issuerKey('ES256', `ec-${index}`));
    await open(new ScriptedIssuer(rsa, shared, ...many).fetch).refresh();
    expect(candidates('RS256', 'rsa-1')).toHaveLength(1);
    expect(candidates('ES256', 'rsa-1')).toHaveLength(1);
    expect(candidates('ES384', 'rsa-1')).toHaveLength(0);
    expect(candidates('RS256', 'ec-1')).toHaveLength(0);
    expect(candidates('ES256', '__proto__')).toHaveLength(0);
    expect(candidates('ES256', null)).toHaveLength(16);
  });

  it('finds a key by the thumbprint of its certificate, however many have no id', async () => {
    const numbered = (jwk: object, index: number, kid?: string) => ({
      ...ecdsa,
      jwk: { ...jwk, kid, x5t: `sha1-${index}`, 'x5t#S256': `sha256-${index}` },
    });
    const many = Array.from({ length: 40 }, (_, index) => numbered(issuerKey('ES256', null).jwk, index));
    const bare = issuerKey('ES256', null);
    await open(new ScriptedIssuer(...many, numbered(rsa.jwk, 40, 'rsa-1'), bare).fetch).refresh();
    const found = (keyId: string | null, thumbprint: string, algorithm: SigningAlgorithm = 'ES256') =>
      candidates(algorithm, keyId, thumbprint).map(key => key.thumbprints[1] ?? 'none');
    expect(found(null, 'sha1-39')).toEqual(['sha1-39']);
    expect(found(null, 'sha256-39')).toEqual(['sha1-39']);
    expect(found('of-the-token', 'sha1-7')).toEqual(['sha1-7']);
    expect(found('rsa-1', 'sha1-7', 'RS256')).toEqual(['sha1-40']);
    // A name that the set lacks may be that of a key which was published without any of its sort, but of no other.
    expect(found(null, 'sha1-99')).toEqual(['none']);
    expect(found('of-the-token', 'sha1-99')).toEqual(['none']);
    expect(candidates('ES256', 'of-the-token')).toHaveLength(16);
    expect(candidates('RS256', 'of-the-token')).toEqual([]);
    expect(found(null, '__proto__')).toEqual(['none']);
    const knows = (keyId: string | null, thumbprint: string | null) => keySet.knows({ keyId, thumbprint });
    expect([knows(null, 'sha1-40'), knows('rsa-1', null), knows('x', 'sha1-99'), knows(null, null)]).toEqual([
      ...[true, true, false, false],
    ]);
  });
});

describe('a fetch', () => {
  it('is one for all who ask at the same time', async () => {
    const issuer = new ScriptedIssuer(rsa);
    open(issuer.fetch);
    const responses = await Promise.all([keySet.refresh(), keySet.refresh(), keySet.refresh()]);
    expect(responses).toEqual([true, true, true]);
    expect(issuer.fetches).toBe(1);
  });

  it('is followed by a cooldown of five seconds, whether it was good or not', async () => {
    const issuer = new ScriptedIssuer(rsa);
    open(issuer.fetch);
    expect(keySet.cooldownMs()).toBe(0);
    for (const state of ['up', 'failing'] as const) {
      issuer.state = state;
      await keySet.refresh();
      expect(keySet.cooldownMs()).toBe(5_000);
      await vi.advanceTimersByTimeAsync(4_999);
      expect(keySet.cooldownMs()).toBe(1);
    }
  });

  it('fails after five seconds even if the fetcher ignores its signal', async () => {
    const issuer = new ScriptedIssuer(rsa);
    issuer.state = 'hanging';
    const done = open(issuer.fetch).refresh();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(keySet.fetching).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await done).toBe(false);
    expect(keySet.fetching).toBe(false);
    const tooLate = new KeySetError('the issuer took too long to send its keys');
    expect(recorder.events).toEqual([['keySetFailed', tooLate]]);
  });

  it('is aborted when its time is up and when the key set is closed', async () => {
    const signals: AbortSignal[] = [];
    const hang: KeySetFetcher = signal => {
      signals.push(signal);
      return new Promise(() => {});
    };
    void open(hang).refresh();
    await vi.advanceTimersByTimeAsync(5_000);
    void keySet.refresh();
    expect(signals.map(signal => signal.aborted)).toEqual([true, false]);
    keySet.close();
    expect(signals.map(signal => signal.aborted)).toEqual([true, true]);
  });

  it('that throws at once has failed', async () => {
    const thrower: KeySetFetcher = () => {
      throw new Error('no such host');
    };
    expect(await open(thrower).refresh()).toBe(false);
    keySet.close();
  });

  it('does not happen any more once the key set is closed, whose keys stay usable', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    keySet.close();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(await keySet.refresh()).toBe(false);
    expect(issuer.fetches).toBe(1);
    expect(ids()).toEqual(['rsa-1']);
  });
});

describe('a key set in the place of another', () => {
  it('knows its keys until the first fetch of its own is good', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    const before = keySet;
    const [key] = before.candidates({ algorithm: 'RS256', keyId: null, thumbprint: null, claims: {} }, null);
    issuer.state = 'failing';
    keySet = new KeySet(
      KEY_SET_OPTIONS,
      { fetch: issuer.fetch, clock, random: () => 0, listener: recorder },
      before,
    );
    expect([keySet.loaded, keySet.asOfMs, keySet.version]).toEqual([true, before.asOfMs, before.version]);
    expect(key && keySet.holds(key)).toBe(true);
    expect(await keySet.refresh()).toBe(false);
    expect(ids()).toEqual([key?.id]);
    before.close();
  });

  it('leaves its predecessor only the fetches that exchanges cause', async () => {
    const issuer = new ScriptedIssuer(rsa);
    await open(issuer.fetch).refresh();
    keySet.retire();
    await vi.advanceTimersByTimeAsync(6_000_000);
    expect(issuer.fetches).toBe(1);
    expect(await keySet.refresh()).toBe(true);
    await vi.advanceTimersByTimeAsync(6_000_000);
    expect(issuer.fetches).toBe(2);
  });
});

describe('a key set that another thread fetches', () => {
  it('follows that: its keys, their age and the cooldown', async () => {
    const issuer = new ScriptedIssuer(rsa);
    const main = open(issuer.fetch);
    expect(main.fetched).toBeNull();
    await main.refresh();
    let asked = 0;
    keySet = new KeySet(KEY_SET_OPTIONS, {
      fetch: () => expect.fail('it fetches nothing itself'),
      ask: async () => {
        asked += 1;
        return false;
      },
      clock,
      random: () => 0,
      listener: recorder,
    });
    keySet.follow(null, 4_000);
    expect([keySet.loaded, keySet.cooldownMs()]).toEqual([false, 4_000]);
    keySet.follow(main.fetched, 5_000);
    expect([ids(), keySet.size, keySet.asOfMs, keySet.version]).toEqual([['rsa-1'], 1, START_MS, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(keySet.cooldownMs()).toBe(4_000);
    const [key] = candidates('RS256', 'rsa-1');
    // What it has already makes no new version: refusals stay remembered.
    for (const known of [main.fetched, null]) keySet.follow(known, 0);
    expect([keySet.version, keySet.cooldownMs()]).toEqual([1, 0]);
    issuer.keys = [rsa, rsaNext];
    await main.refresh();
    keySet.follow(main.fetched, 5_000);
    expect([ids(), keySet.version]).toEqual([['rsa-1', 'rsa-2'], 2]);
    expect(key && keySet.holds(key)).toBe(true);
    main.close();
    expect([await keySet.refresh(), asked]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(6_000_000);
    expect(asked).toBe(1);
  });
});
