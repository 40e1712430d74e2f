import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SeenNotices } from '../../../../src/identity/auth/notices.ts';
import { clock, freezeTime, START_MS } from './fixture.ts';

beforeEach(freezeTime);
afterEach(() => void vi.useRealTimers());

const alone = async () => true;

describe('the ids of notices', () => {
  it('are taken once, each of one issuer, until they expire', async () => {
    const seen = new SeenNotices({ clock, claim: alone });
    expect(await seen.take('a', '1', START_MS + 1_000)).toBe(true);
    expect([await seen.take('a', '1', START_MS + 1_000), seen.has('a', '1')]).toEqual([false, true]);
    expect([
      await seen.take('b', '1', START_MS + 1_000),
      await seen.take('a', '2', START_MS + 1_000),
    ]).toEqual([true, true]);
    vi.advanceTimersByTime(1_000);
    expect([seen.has('a', '1'), await seen.take('a', '1', START_MS + 2_000)]).toEqual([false, true]);
    // The expired ones are gone.
    expect(seen.size).toBe(1);
  });

  it('are taken once of two that come together', async () => {
    const seen = new SeenNotices({ clock, claim: alone });
    const both = [seen.take('a', '1', START_MS + 1_000), seen.take('a', '1', START_MS + 1_000)];
    expect(await Promise.all(both)).toEqual([true, false]);
  });

  it('are not taken if another gateway has, which learns neither the id nor the issuer', async () => {
    const claims: [string, number][] = [];
    const seen = new SeenNotices({
      clock,
      claim: async (name, forMs) => {
        claims.push([name, forMs]);
        return false;
      },
    });
    expect(await seen.take('a', '1', START_MS + 1_500)).toBe(false);
    expect(claims).toEqual([[expect.stringMatching(/^[\w-]{22}$/), 1_500]]);
  });

  it('take bounded room: the oldest is forgotten', async () => {
    const seen = new SeenNotices({ clock, claim: alone }, 2);
    for (const id of ['1', '2', '3']) await seen.take('a', id, START_MS + 1_000);
    expect([seen.size, seen.has('a', '1'), seen.has('a', '2'), seen.has('a', '3')]).toEqual([
      2,
      false,
      true,
      true,
    ]);
  });
});
