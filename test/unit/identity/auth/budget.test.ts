import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Clock, ownMemory } from '../../../../src/core/index.ts';
import { type BudgetOptions, OwnerChecks, VerificationBudget } from '../../../../src/identity/auth/index.ts';
import { BUDGET_OPTIONS } from '../../../support/identity-options.ts';
import { threadsOf } from '../../../support/shared-memory.ts';

type Budget = Pick<VerificationBudget, 'waitMs' | 'failed' | 'giveBack' | 'use'>;

let nowMs = 0;
const clock: Clock = { epochMs: () => 0, monotonicMs: () => nowMs };

beforeEach(() => {
  nowMs = 5_000;
});

/** How many of `tries` checks the address is allowed now. */
function allowed(budget: Budget, address: string, tries: number): number {
  let count = 0;
  for (let i = 0; i < tries; i += 1) if (budget.waitMs(address) === 0) count += 1;
  return count;
}

function spend(budget: Budget, address: string, failures = 1_000): void {
  for (let i = 0; i < failures; i += 1) budget.failed(address, 1);
}

function ofOneThread(options: BudgetOptions): Budget {
  return new VerificationBudget(options, clock, ownMemory(randomBytes), 'tokens');
}

/** Each call comes from another thread than the one before. */
function ofThreeThreads(options: BudgetOptions): Budget {
  const budgets = threadsOf(3).map(memory => new VerificationBudget(options, clock, memory, 'tokens'));
  let turn = 0;
  const next = () => budgets[turn++ % budgets.length] ?? ofOneThread(options);
  return {
    waitMs: address => next().waitMs(address),
    failed: (address, checks) => next().failed(address, checks),
    giveBack: (address, window) => next().giveBack(address, window),
    use: changed => {
      for (const budget of budgets) budget.use(changed);
    },
  };
}

describe.each([
  { of: 'one thread', newBudget: ofOneThread },
  { of: 'three threads in turn', newBudget: ofThreeThreads },
])('the budget of failed verifications, of $of,', ({ newBudget }) => {
  it('lets an address check as often as it likes until it failed 1,000 times', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    spend(budget, 'a', 999);
    expect(allowed(budget, 'a', 100)).toBe(100);
    budget.failed('a', 1);
    expect(allowed(budget, 'a', 100)).toBe(10);
  });

  it('takes back what was counted in advance, in the same window only', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    const window = budget.failed('a', 1);
    spend(budget, 'a', 999);
    expect(allowed(budget, 'a', 100)).toBe(10);
    budget.giveBack('a', window);
    budget.giveBack('unknown', window);
    expect(allowed(budget, 'a', 100)).toBe(100);
    // The ten checks of this second are used up.
    budget.failed('a', 1);
    expect(allowed(budget, 'a', 100)).toBe(0);
    nowMs += 60_000;
    spend(budget, 'a');
    budget.giveBack('a', window);
    expect(allowed(budget, 'a', 100)).toBe(10);
  });

  it('counts a token that was tried with several keys as several failures', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    for (let i = 0; i < 250; i += 1) budget.failed('a', 4);
    expect(allowed(budget, 'a', 100)).toBe(10);
  });

  it('allows ten checks a second once it is spent, until its window closes', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    budget.failed('another', 1);
    spend(budget, 'a');
    let checks = 0;
    for (; nowMs < 64_980; nowMs += 20) checks += allowed(budget, 'a', 3);
    expect(checks).toBe(600);
    nowMs = 64_980;
    expect(allowed(budget, 'a', 100)).toBe(100);
  });

  it('allows them from second to second, whatever failures arrive late', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    spend(budget, 'a');
    expect(allowed(budget, 'a', 100)).toBe(10);
    nowMs += 500;
    budget.failed('a', 1);
    nowMs += 500;
    expect(allowed(budget, 'a', 100)).toBe(10);
  });

  it('says how long its window stays open', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    budget.failed('a', 1);
    nowMs += 20_000;
    spend(budget, 'a');
    allowed(budget, 'a', 10);
    expect(budget.waitMs('a')).toBe(40_000);
    nowMs += 39_900;
    allowed(budget, 'a', 10);
    expect(budget.waitMs('a')).toBe(100);
  });

  it('is full again in the next window', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    spend(budget, 'a');
    nowMs += 60_000;
    spend(budget, 'a', 999);
    expect(allowed(budget, 'a', 100)).toBe(100);
    budget.failed('a', 1);
    expect(allowed(budget, 'a', 100)).toBe(10);
  });

  it('is separate for each address', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    spend(budget, 'a');
    expect(allowed(budget, 'b', 100)).toBe(100);
  });

  it('spends no room on an address that fails nothing', () => {
    const budget = new VerificationBudget(
      { ...BUDGET_OPTIONS, maxAddresses: 1 },
      clock,
      ownMemory(randomBytes),
      'tokens',
    );
    spend(budget, 'a', 999);
    for (let i = 0; i < 1_000; i += 1) budget.waitMs(`address ${i}`);
    spend(budget, 'a', 1);
    expect(allowed(budget, 'a', 100)).toBe(10);
  });

  it('counts a bounded number of addresses, and a flood of them frees no spent one', () => {
    const budget = new VerificationBudget(
      { ...BUDGET_OPTIONS, maxAddresses: 1_000 },
      clock,
      ownMemory(randomBytes),
      'tokens',
    );
    spend(budget, 'spent');
    spend(budget, 'pushed out', 999);
    for (let i = 0; i < 1_000; i += 1) budget.failed(`address ${i}`, 1);
    spend(budget, 'pushed out', 1);
    expect(allowed(budget, 'pushed out', 100)).toBe(100);
    expect(allowed(budget, 'spent', 100)).toBe(10);
  });

  it('forgets the oldest of those with budget left, also when another between them has spent its own', () => {
    const budget = newBudget({ ...BUDGET_OPTIONS, limit: 2, maxAddresses: 3 });
    for (const address of ['a', 'b', 'c', 'b', 'd', 'e']) budget.failed(address, 1);
    for (const address of ['c', 'd', 'e']) {
      budget.failed(address, 1);
      expect(allowed(budget, address, 100)).toBe(10);
    }
    budget.failed('a', 1);
    expect(allowed(budget, 'a', 100)).toBe(100);
  });

  it('remembers a bounded number of spent addresses, the latest', () => {
    const budget = new VerificationBudget(
      { ...BUDGET_OPTIONS, limit: 1, maxAddresses: 1_000 },
      clock,
      ownMemory(randomBytes),
      'tokens',
    );
    for (let i = 0; i <= 1_000; i += 1) budget.failed(`address ${i}`, 1);
    expect(allowed(budget, 'address 0', 100)).toBe(100);
    expect(allowed(budget, 'address 1', 100)).toBe(10);
    expect(allowed(budget, 'address 1000', 100)).toBe(10);
  });

  it('has room for as many addresses as at its start, whatever a reload says', () => {
    const budget = newBudget({ ...BUDGET_OPTIONS, limit: 1, maxAddresses: 2 });
    budget.use({ ...BUDGET_OPTIONS, limit: 1, maxAddresses: 1_000 });
    for (let i = 0; i <= 10; i += 1) budget.failed(`address ${i}`, 1);
    expect(allowed(budget, 'address 8', 100)).toBe(100);
    expect(allowed(budget, 'address 9', 100)).toBe(10);
    expect(allowed(budget, 'address 10', 100)).toBe(10);
  });

  it('frees no spent address for another that fails again after its window closed', () => {
    const budget = newBudget({ ...BUDGET_OPTIONS, limit: 2, maxAddresses: 2 });
    budget.failed('a', 1);
    nowMs += 10_000;
    budget.failed('b', 2);
    budget.failed('a', 1);
    nowMs += 50_000;
    budget.failed('a', 2);
    expect(allowed(budget, 'b', 100)).toBe(10);
  });

  it('counts earlier failures towards a limit that a reload changed', () => {
    const budget = newBudget(BUDGET_OPTIONS);
    spend(budget, 'a', 1_000);
    spend(budget, 'b', 900);
    spend(budget, 'c', 1_000);
    budget.use({ ...BUDGET_OPTIONS, limit: 1_000 });
    expect(allowed(budget, 'c', 100)).toBe(10);
    budget.use({ ...BUDGET_OPTIONS, limit: 1_200 });
    expect(allowed(budget, 'a', 100)).toBe(100);
    spend(budget, 'a', 199);
    expect(allowed(budget, 'a', 100)).toBe(100);
    spend(budget, 'a', 1);
    expect(allowed(budget, 'a', 100)).toBe(10);
    budget.use({ ...BUDGET_OPTIONS, limit: 901 });
    expect(allowed(budget, 'b', 100)).toBe(100);
    spend(budget, 'b', 1);
    expect(allowed(budget, 'b', 100)).toBe(10);
  });
});

it('the budget of failed verifications is apart from another in the same memory', () => {
  const [memory = ownMemory(randomBytes)] = threadsOf(1);
  const [tokens, notices] = ['tokens', 'notices'].map(
    name => new VerificationBudget({ ...BUDGET_OPTIONS, limit: 1, maxAddresses: 2 }, clock, memory, name),
  );
  if (tokens === undefined || notices === undefined) throw new Error('no budget');
  for (const address of ['a', 'b']) tokens.failed(address, 1);
  for (const address of ['c', 'd', 'e', 'f']) notices.failed(address, 1);
  expect(['a', 'b', 'e'].map(address => allowed(tokens, address, 100))).toEqual([10, 10, 100]);
  tokens.failed('g', 1);
  expect(['a', 'b', 'g'].map(address => allowed(tokens, address, 100))).toEqual([100, 0, 10]);
  expect(['d', 'e', 'f'].map(address => allowed(notices, address, 100))).toEqual([100, 10, 10]);
});

describe('checks of whose refused token it is', () => {
  it('are ten a second, whichever thread makes them', () => {
    const threads = threadsOf(3).map(memory => new OwnerChecks(clock, memory));
    const taken = () => Array.from({ length: 30 }, (_, i) => threads[i % 3]?.take()).filter(Boolean).length;
    expect([taken(), taken()]).toEqual([10, 0]);
    nowMs += 999;
    expect(taken()).toBe(0);
    nowMs += 1;
    expect(taken()).toBe(10);
  });

  it('are ten in any second, also when they come at different moments', () => {
    const checks = new OwnerChecks(clock, ownMemory(randomBytes));
    const taken = (tries: number) =>
      Array.from({ length: tries }, () => checks.take()).filter(Boolean).length;
    expect(taken(4)).toBe(4);
    nowMs += 500;
    expect(taken(30)).toBe(6);
    nowMs += 500;
    expect(taken(30)).toBe(4);
    nowMs += 500;
    expect(taken(30)).toBe(6);
  });
});

describe('a token that has passed', () => {
  // Hashes with one place: the second shares no word with the first, the others one each.
  const [one, other, ...alike] = ['aaaaaaaa', 'aabbbbbb', 'aaaabbbb', 'aabbaaaa'].map(text =>
    Buffer.from(text.padEnd(32)).toString('base64url'),
  );

  it('is known to the other threads, and no other token is', () => {
    const [main, worker] = threadsOf(2).map(
      memory => new VerificationBudget(BUDGET_OPTIONS, clock, memory, 'tokens'),
    );
    main?.passed(one ?? '');
    expect(worker?.hasPassed(one ?? '')).toBe(true);
    for (const token of [other, ...alike]) expect(worker?.hasPassed(token ?? '')).toBe(false);
  });

  it('is not looked up where there is one thread, which remembers its callers', () => {
    const budget = new VerificationBudget(BUDGET_OPTIONS, clock, ownMemory(randomBytes), 'tokens');
    budget.passed(one ?? '');
    expect(budget.hasPassed(one ?? '')).toBe(false);
  });
});
