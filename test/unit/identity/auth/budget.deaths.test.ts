import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { ownMemory, SharedMemory } from '../../../../src/core/index.ts';
import { VerificationBudget } from '../../../../src/identity/auth/index.ts';
import { BUDGET_OPTIONS } from '../../../support/identity-options.ts';
import { Random } from '../../../support/random.ts';
import { MortalMemory } from '../../limits/mortal-threads.ts';

const ADDRESSES = ['a', 'b', 'c', 'd', 'e'];
const OPTIONS = { ...BUDGET_OPTIONS, limit: 4, periodMs: 1_000, maxAddresses: 3, checksPerSecond: 2 };

it('a thread that dies at any step leaves a budget as if it had done all or nothing', () => {
  const random = new Random(26);
  let nowMs = 5_000;
  const clock = { epochMs: () => 0, monotonicMs: () => nowMs };
  const neverWait = () => {
    throw new Error('another thread is inside');
  };
  const main = SharedMemory.create(2, randomBytes, neverWait);
  const model = new VerificationBudget(OPTIONS, clock, ownMemory(randomBytes), 'tokens');
  const ofMain = new VerificationBudget(OPTIONS, clock, main, 'tokens');
  const begin = () => {
    const memory = new MortalMemory(new SharedMemory(structuredClone(main.handover), 1, neverWait), 20_000);
    return { memory, budget: new VerificationBudget(OPTIONS, clock, memory, 'tokens') };
  };
  let mortal = begin();
  let [undone, done, refused] = [0, 0, 0];
  for (let step = 0; step < 10_000; step++) {
    if (random.chance(0.2)) nowMs += random.below(400);
    const [address, checks] = [random.pick(ADDRESSES), 1 + random.below(2)];
    if (random.chance(0.5)) {
      const { memory, budget } = mortal;
      memory.hasKept = false;
      const hasDied = memory.dieAfter(random.chance(0.3) ? random.below(120) : 1_000, () =>
        budget.failed(address, checks),
      );
      if (hasDied) {
        main.recover(1);
        mortal = begin();
        if (memory.hasKept) done++;
        else undone++;
      }
      if (!hasDied || memory.hasKept) model.failed(address, checks);
    } else {
      const waitMs = model.waitMs(address);
      expect((random.chance(0.5) ? ofMain : mortal.budget).waitMs(address)).toBe(waitMs);
      if (waitMs > 0) refused++;
    }
  }
  expect(undone).toBeGreaterThan(200);
  expect(done).toBeGreaterThan(10);
  expect(refused).toBeGreaterThan(200);
});
