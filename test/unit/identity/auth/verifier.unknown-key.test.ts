import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { base64Url, signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  claims,
  freezeTime,
  inWords,
  openRoom,
  type Room,
  type RoomOptions,
  rsa,
  rsaNext,
  ScriptedIssuer,
  START_MS,
  START_S,
} from './fixture.ts';

let room: Room;

/** The room a minute after its keys were loaded: the cooldown is over and the leeway too. */
async function open(issuer = new ScriptedIssuer(rsa), changed: RoomOptions = {}): Promise<Room> {
  room = await openRoom(issuer, changed);
  await vi.advanceTimersByTimeAsync(60_000);
  return room;
}

beforeEach(freezeTime);

afterEach(() => {
  room.keys.close();
  vi.useRealTimers();
});

/** Signed by the key that the issuer does not show yet, this many seconds after the start. */
const fresh = (atS = 60) => signToken(rsaNext, { ...claims, iat: START_S + atS });
const old = () => signToken(rsaNext, { ...claims, iat: START_S - 31 });

function forged(kid: string, iat: number): string {
  const header = base64Url(JSON.stringify({ alg: 'RS256', kid }));
  return `${header}.${base64Url(JSON.stringify({ ...claims, iat, exp: iat + 3_600 }))}.${'A'.repeat(342)}`;
}

describe('a token of a key that is not known', () => {
  it('is accepted after one fetch if the issuer publishes the key', async () => {
    const { judge, issuer } = await open();
    issuer.keys = [rsa, rsaNext];
    expect(await judge(fresh())).toBe('user web ada');
    expect(issuer.fetches).toBe(2);
  });

  it('is refused if the issuer does not publish the key', async () => {
    const { judge, issuer } = await open();
    expect(await judge(fresh())).toBe('invalid unknown_key');
    expect(issuer.fetches).toBe(2);
  });

  it('cannot be judged when the fetch fails, whatever its iat', async () => {
    const { judge, issuer } = await open();
    issuer.state = 'failing';
    expect(await judge(fresh())).toBe('unavailable 5');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await judge(old())).toBe('unavailable 5');
  });

  it('cannot be judged when the fetch hangs, which takes five seconds', async () => {
    const { verifier, issuer } = await open();
    issuer.state = 'hanging';
    const verdict = Promise.resolve(verifier.verify(fresh(), ADDRESS));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(inWords(await verdict)).toBe('unavailable 5');
  });

  it('is answered at once within the cooldown: undecided if younger than the keys, else refused', async () => {
    const { verifier, judge, issuer } = await open();
    await judge(fresh());
    await vi.advanceTimersByTimeAsync(1_500);
    const young = verifier.verify(fresh(61), ADDRESS);
    expect(young).toEqual({ kind: 'unavailable', retryAfterMs: 3_500 });
    expect(verifier.verify(old(), ADDRESS)).toMatchObject({ kind: 'invalid', reason: 'unknown_key' });
    expect(issuer.fetches).toBe(2);
  });

  it('counts as younger than the keys within the leeway, since clocks differ', async () => {
    const { judge } = await open();
    await judge(fresh());
    // The second fetch began at 60 s.
    expect(await judge(fresh(31))).toBe('unavailable 5');
    expect(await judge(fresh(30))).toBe('invalid unknown_key');
  });

  it('is judged again after the cooldown, since neither response was remembered', async () => {
    const { judge, issuer } = await open();
    await judge(fresh());
    expect(await judge(fresh(61))).toBe('unavailable 5');
    expect(await judge(old())).toBe('invalid unknown_key');
    issuer.keys = [rsa, rsaNext];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await judge(fresh(61))).toBe('user web ada');
    expect(await judge(old())).toBe('user web ada');
    expect(issuer.fetches).toBe(3);
  });

  it('shares one fetch with all that come meanwhile', async () => {
    const { judge, issuer } = await open();
    issuer.keys = [rsa, rsaNext];
    const verdicts = await Promise.all(Array.from({ length: 100 }, (_, index) => judge(fresh(index - 60))));
    expect(new Set(verdicts)).toEqual(new Set(['user web ada']));
    expect(issuer.fetches).toBe(2);
  });

  it('is not refused by a fetch that began before it came, since its key may be younger', async () => {
    const { judge, keys } = await open();
    const background = keys.refresh();
    const verdict = judge(fresh());
    await background;
    expect(await verdict).toBe('unavailable 5');
  });

  it('has another thread asked once, even if that tells of no cooldown', async () => {
    let asked = 0;
    const { judge } = await open(undefined, {
      ask: async keys => {
        asked += 1;
        if (asked > 2) keys().follow(null, 5_000);
        return asked === 1;
      },
    });
    expect(await judge(fresh())).toBe('unavailable 0');
    expect(asked).toBe(2);
  });

  it('is refused when it expired while the keys were fetched', async () => {
    const { verifier, issuer } = await open();
    issuer.state = 'hanging';
    const token = signToken(rsaNext, { ...claims, exp: START_S + 32 });
    const verdict = Promise.resolve(verifier.verify(token, ADDRESS));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(inWords(await verdict)).toBe('invalid expired');
  });

  it('is looked up as well when it names no key and none fits its algorithm', async () => {
    const { judge, issuer } = await open();
    expect(await judge(signToken({ ...rsa, kid: null }, claims, { alg: 'ES256' }))).toBe(
      'invalid unknown_key',
    );
    expect(issuer.fetches).toBe(2);
  });
});

describe('a token of a new key under the id of a known one', () => {
  const replaced = { ...rsaNext, kid: rsa.kid, jwk: { ...rsaNext.jwk, kid: rsa.kid } };
  const signed = (atS: number) => signToken(replaced, { ...claims, iat: START_S + atS });
  const unnamed = (atS: number) => signToken({ ...rsaNext, kid: null }, { ...claims, iat: START_S + atS });

  it.each([
    ['with the id', signed],
    ['that names no key', unnamed],
  ])('%s is accepted after one fetch if the issuer publishes it', async (_, token) => {
    const { judge, issuer, recorder } = await open();
    issuer.keys = [replaced];
    expect(await judge(token(60))).toBe('user web ada');
    expect(await judge(token(-60))).toBe('user web ada');
    expect(issuer.fetches).toBe(2);
    expect(recorder.count('tokenRefused')).toBe(0);
    expect(await judge(signToken(rsa, { ...claims, iat: START_S + 60 }))).toBe('unavailable 5');
    expect(await judge(signToken(rsa, claims))).toBe('invalid signature');
  });

  it('is refused if the issuer still publishes the old one, and remembered as such', async () => {
    const { judge, issuer, recorder } = await open();
    const token = signed(60);
    expect(await judge(token)).toBe('invalid signature');
    const checks = recorder.count('signatureChecked');
    expect(await judge(token)).toBe('invalid signature');
    expect([issuer.fetches, recorder.count('signatureChecked') - checks]).toEqual([2, 0]);
  });

  it('cannot be judged when the fetch fails, whatever its iat', async () => {
    const { judge, issuer } = await open();
    issuer.state = 'failing';
    expect(await judge(signed(60))).toBe('unavailable 5');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await judge(signed(-60))).toBe('unavailable 5');
  });

  it('is answered at once within the cooldown: undecided if younger than the keys, else refused', async () => {
    const { verifier, judge, issuer } = await open();
    await judge(signed(60));
    await vi.advanceTimersByTimeAsync(1_500);
    expect(verifier.verify(signed(61), ADDRESS)).toEqual({ kind: 'unavailable', retryAfterMs: 3_500 });
    expect(verifier.verify(signed(-61), ADDRESS)).toMatchObject({ kind: 'invalid', reason: 'signature' });
    expect(issuer.fetches).toBe(2);
    issuer.keys = [replaced];
    await vi.advanceTimersByTimeAsync(3_500);
    expect(await judge(signed(61))).toBe('user web ada');
  });

  it('is not refused by a fetch that began before it came, since its key may be younger', async () => {
    const { judge, keys } = await open();
    const background = keys.refresh();
    const verdict = judge(signed(60));
    await background;
    expect(await verdict).toBe('unavailable 5');
  });

  it('shares one fetch with all that come meanwhile, and a flood of wrong signatures causes no more', async () => {
    const { judge, issuer } = await open(undefined, { budget: null });
    const verdicts = await Promise.all(Array.from({ length: 100 }, (_, index) => judge(signed(index - 60))));
    expect(issuer.fetches).toBe(2);
    // Those that come before the fetch began are certain; the first had it begun.
    expect(new Set(verdicts)).toEqual(new Set(['invalid signature', 'unavailable 5']));
    for (let i = 0; i < 60; i += 1) {
      await judge(forged(rsa.kid ?? '', START_S + i));
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(issuer.fetches).toBe(3);
  });

  it('draws on the budget of its address whatever the response, so that a forged iat gains nothing', async () => {
    const { judge } = await open(undefined, { budget: { limit: 5, checksPerSecond: 0 } });
    const verdicts: string[] = [];
    for (const atS of [60, 61, -60, 62, -61, 63]) verdicts.push(await judge(signed(atS)));
    expect(verdicts).toEqual([
      ...['invalid signature', 'unavailable 5', 'invalid signature'],
      ...['unavailable 5', 'invalid signature', 'spent 60000'],
    ]);
  });
});

describe('a key', () => {
  it('that is removed takes its tokens with it, known ones too', async () => {
    const { judge, issuer, keys } = await open(new ScriptedIssuer(rsa, rsaNext));
    const token = old();
    expect(await judge(token)).toBe('user web ada');
    issuer.keys = [rsa];
    await keys.refresh();
    expect(await judge(token)).toBe('invalid unknown_key');
    expect(await judge(signToken(rsa, claims))).toBe('user web ada');
  });

  it('that is known keeps verifying new and known tokens however long the issuer is down', async () => {
    const { judge, issuer } = await open();
    const longLived = { ...claims, exp: START_S + 100_000 };
    expect(await judge(signToken(rsa, longLived))).toBe('user web ada');
    issuer.state = 'failing';
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(await judge(signToken(rsa, longLived))).toBe('user web ada');
    expect(await judge(signToken(rsa, { ...longLived, sub: 'bob' }))).toBe('user web bob');
  });

  it('that was rotated in is accepted once the issuer is back', async () => {
    const { judge, issuer } = await open();
    issuer.state = 'failing';
    issuer.keys = [rsaNext];
    expect(await judge(fresh())).toBe('unavailable 5');
    issuer.state = 'up';
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await judge(fresh())).toBe('user web ada');
    expect(await judge(signToken(rsa, claims))).toBe('invalid unknown_key');
  });
});

describe('before the first key set', () => {
  it('no token can be judged, and the first fetch is waited for', async () => {
    const issuer = new ScriptedIssuer(rsa);
    issuer.state = 'failing';
    room = await openRoom(issuer);
    const { judge } = room;
    expect(await judge(signToken(rsa, { ...claims, iat: START_S - 1_000 }))).toBe('unavailable 5');
    issuer.state = 'up';
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await judge(signToken(rsa, claims))).toBe('user web ada');
  });
});

describe('10,000 tokens with random key ids in ten seconds', () => {
  it.each([
    ['up', 3],
    ['failing', 4],
    ['hanging', 2],
  ] as const)(
    'cause few fetches while the issuer is %s, and known keys keep verifying',
    async (state, most) => {
      const { judge, verifier, issuer } = await open(undefined, { budget: null });
      const good = signToken(rsa, claims);
      await judge(good);
      issuer.state = state;
      const before = issuer.fetches;
      const verdicts: unknown[] = [];
      for (let i = 0; i < 10_000; i += 1) {
        const token = forged(`random ${i}`, START_S + (i % 2 === 0 ? 60 : -60));
        void Promise.resolve(verifier.verify(token, ADDRESS)).then(verdict => verdicts.push(verdict.kind));
        await vi.advanceTimersByTimeAsync(1);
        if (i % 100 === 0)
          expect(verifier.verify(good, ADDRESS)).toMatchObject({ principal: 'user:web ada' });
        if (i % 1_000 === 0) {
          const anew = signToken(rsa, { ...claims, jti: i });
          expect(verifier.verify(anew, ADDRESS)).toMatchObject({ kind: 'user' });
        }
      }
      await vi.advanceTimersByTimeAsync(5_000);
      expect(verdicts).toHaveLength(10_000);
      expect(new Set(verdicts)).toEqual(new Set(['invalid', 'unavailable']));
      expect(issuer.fetches - before).toBeLessThanOrEqual(most);
      expect(issuer.fetches - before).toBeGreaterThan(0);
    },
  );

  it('use up an address’s budget, so that most are not even looked up', async () => {
    const { judge, recorder } = await open();
    let spent = 0;
    for (let i = 0; i < 10_000; i += 1) {
      const verdict = await judge(forged(`random ${i}`, START_MS / 1_000));
      if (verdict.startsWith('spent')) spent += 1;
    }
    expect(spent).toBe(10_000 - 1_010);
    expect(recorder.count('signatureChecked')).toBe(0);
  });
});
