import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ownMemory, SharedMemory, type TableMemory } from '../../../../../src/core/index.ts';
import { SeenProofs } from '../../../../../src/identity/auth/index.ts';
import { Random } from '../../../../support/random.ts';
import { runs } from '../../../../support/runs.ts';
import { threadsOf } from '../../../../support/shared-memory.ts';
import { MortalMemory } from '../../../limits/mortal-threads.ts';

const HOLD_MS = 60_000;

function seenProofs(maxProofs: number, memory: TableMemory = ownMemory(randomBytes)) {
  const clock = { ms: 1_000, monotonicMs: () => clock.ms };
  const seen = new SeenProofs(maxProofs, clock, memory);
  /** Made at this moment. */
  const take = (key: string, id: string, issuedAtMs = clock.ms) => seen.take(key, id, issuedAtMs, HOLD_MS);
  return { clock, seen, take };
}

describe('proofs that were seen', () => {
  it('are known to all threads', () => {
    const clock = { monotonicMs: () => 1_000 };
    const [one, other] = threadsOf(3).map(memory => new SeenProofs(10, clock, memory));
    expect(one?.take('key', 'a', 1_000, HOLD_MS)).toBe('new');
    expect(other?.take('key', 'a', 1_000, HOLD_MS)).toBe('used');
    expect(other?.take('key', 'b', 1_000, HOLD_MS)).toBe('new');
    expect(one?.take('key', 'b', 1_000, HOLD_MS)).toBe('used');
  });

  it('are forgotten after their time, and make room', () => {
    const { clock, seen, take } = seenProofs(10);
    for (let n = 0; n < 10; n++) take('key', `${n}`);
    clock.ms += HOLD_MS + 1;
    for (let n = 0; n < 6; n++) expect(take('key', `${n}`)).toBe('new');
    expect(seen.size).toBeLessThanOrEqual(10);
    expect(take('key', '0')).toBe('used');
  });

  it('never fill more than their table: the oldest give way, and then proofs must be younger than they', () => {
    const { clock, seen, take } = seenProofs(3);
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      expect(take('key', id)).toBe('new');
      clock.ms += 1_000;
    }
    expect(seen.size).toBe(3);
    // a and b gave way: b was made at 2,000.
    expect(take('key', 'a', 1_000)).toBe('too_old');
    expect(take('key', 'b', 2_000)).toBe('too_old');
    expect(take('key', 'never seen', 2_000)).toBe('too_old');
    expect(take('key', 'c', 3_000)).toBe('used');
    expect(take('key', 'never seen', 2_001)).toBe('new');
  });

  it('do not give way for others: a client with future proofs moves the moment of few other keys', () => {
    const { take, clock } = seenProofs(3);
    for (let n = 0; n < 20; n++) take('flood', `${n}`, clock.ms + 30_000);
    const keys = Array.from({ length: 50 }, (_, n) => `key ${n}`);
    const refused = keys.filter(key => take(key, 'a') !== 'new');
    expect(refused.length).toBeLessThan(3);
    expect(take('flood', 'another', clock.ms + 30_000)).toBe('too_old');
  });

  it('agree with a list of all, whatever comes: none is ever good twice', () => {
    const random = new Random(9449);
    const { clock, seen, take } = seenProofs(40);
    const used = new Map<string, number>();
    let [again, refused] = [0, 0];
    for (let step = 0; step < 20_000; step++) {
      clock.ms += random.below(300);
      const [key, id] = [`key ${random.below(5)}`, `${random.below(2_000)}`];
      const name = `${key} ${id}`;
      const issuedAtMs = used.get(name) ?? clock.ms - random.below(20_000);
      // The gateway refuses by its time what came out of its leeway.
      if (clock.ms - issuedAtMs > 30_000) {
        used.delete(name);
        continue;
      }
      const verdict = take(key, id, issuedAtMs);
      if (used.has(name)) {
        again++;
        expect(verdict).not.toBe('new');
      } else if (verdict === 'new') used.set(name, issuedAtMs);
      else {
        refused++;
        expect(verdict).toBe('too_old');
      }
      expect(seen.size).toBeLessThanOrEqual(40);
    }
    expect(again).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(10);
  });
});

it('a thread that dies at any step leaves what was seen as if it had done all or nothing', () => {
  const random = new Random(9);
  const clock = { ms: 1_000, monotonicMs: () => clock.ms };
  const neverWait = () => {
    throw new Error('another thread is inside');
  };
  const main = SharedMemory.create(2, randomBytes, neverWait);
  const ofMain = new SeenProofs(8, clock, main);
  const begin = () => {
    const memory = new MortalMemory(new SharedMemory(structuredClone(main.handover), 1, neverWait), 100_000);
    return { memory, seen: new SeenProofs(8, clock, memory) };
  };
  let mortal = begin();
  const used = new Map<string, number>();
  const steps = runs(3_000, 1_000);
  let [undone, done] = [0, 0];
  for (let step = 0; step < steps; step++) {
    clock.ms += random.below(3_000);
    const id = `${step}`;
    const { memory, seen } = mortal;
    memory.hasKept = false;
    if (
      memory.dieAfter(random.chance(0.5) ? random.below(60) : 1_000, () =>
        seen.take('key', id, clock.ms, HOLD_MS),
      )
    ) {
      main.recover(1);
      mortal = begin();
      if (memory.hasKept) done++;
      else undone++;
    }
    const isUsed = memory.hasKept;
    expect(ofMain.take('key', id, clock.ms, HOLD_MS), id).toBe(isUsed ? 'used' : 'new');
    used.set(id, clock.ms);
    const [earlier, madeAtMs] = random.pick([...used].slice(-20));
    if (clock.ms - madeAtMs <= HOLD_MS)
      expect(ofMain.take('key', earlier, madeAtMs, HOLD_MS)).not.toBe('new');
    expect(ofMain.size).toBeLessThanOrEqual(8);
  }
  expect(undone).toBeGreaterThan(steps / 15);
  expect(done).toBeGreaterThan(steps / 300);
});
