import type { Clock, TableMemory, Words } from '../../core/index.ts';
import { FIRST_NAMED_WORD, NamedTable } from '../../limits/index.ts';
import type { BudgetOptions } from './options.ts';

/** Decides whether another token of an address may be checked. */
export type CheckBudget = Pick<VerificationBudget, 'waitMs' | 'failed'>;

/** The budget of failed verifications, for tokens. It does not delay those that have passed before. */
export type TokenBudget = Pick<VerificationBudget, keyof CheckBudget | 'giveBack' | 'hasPassed' | 'passed'>;

// Offsets of words in a record: the window of one address, opened by its first failure.
const FAILURES = FIRST_NAMED_WORD;
/** When the window closes, on the monotonic clock. A float, like SECOND. */
const CLOSES = FAILURES + 1;
/** The start of the second for which checks after a spent budget are counted. */
const SECOND = CLOSES + 2;
const CHECKS = SECOND + 2;
/** The list that the record is in. */
const LIST = CHECKS + 1;
// The neighbours of the record in its list, as record number + 1; 0 where there is no neighbour.
const OLDER = LIST + 1;
const NEWER = OLDER + 1;
const WIDTH = NEWER + 1;

// Two lists of windows, in the order in which they opened and will close: those with budget left, and those without. Spent ones
// have their own list, so that a flood of new addresses cannot evict them.
const COUNTING = 0;
const SPENT = 1;
// Offsets of words in a list. Records are stored as their number + 1.
const OLDEST = 0;
const NEWEST = 1;
const SIZE = 2;
const LIST_WORDS = 4;

/** Maximum tokens remembered as passed: a power of two. */
const PASSED = 2 ** 16;

/**
 * The budget of failed verifications: bounds the work that an address can cause with forged tokens. An address without failures
 * has no entry. Once its budget is spent, an address still gets a few checks per second until its window closes, because honest
 * clients with new tokens may share it. All threads that share the memory have one budget.
 */
export class VerificationBudget {
  #options: BudgetOptions;
  readonly #clock: Clock;
  readonly #memory: TableMemory;
  readonly #maxAddresses: number;
  readonly #table: NamedTable;
  readonly #lists: Words;
  /**
   * Which tokens recently passed in any thread: two words of each hash, at a place that a later one may overwrite. Has no place in
   * a process without threads, which remembers its callers: there nothing is written, and nothing is found.
   */
  readonly #passed: Words;

  /** `name`: identifies the budget in shared memory. The number of addresses is that of the first options. */
  constructor(options: BudgetOptions, clock: Clock, memory: TableMemory, name: string) {
    this.#options = options;
    this.#clock = clock;
    this.#memory = memory;
    this.#maxAddresses = options.maxAddresses;
    this.#table = new NamedTable(memory, name, 2 * options.maxAddresses, WIDTH);
    this.#lists = memory.words(`${name} lists`, 2 * LIST_WORDS);
    this.#passed = memory.words(`${name} passed`, memory.isShared ? 2 * PASSED : 0);
  }

  /** Replaces the options. Counts stay, and open windows close when they would have before. */
  use(options: BudgetOptions): void {
    this.#options = options;
    void this.#memory.soon(() => {
      for (let at = this.#oldest(SPENT); at >= 0; ) {
        const next = this.#word(at, NEWER) - 1;
        if (this.#word(at, FAILURES) < this.#options.limit) {
          this.#leave(at);
          this.#join(at, COUNTING);
          this.#memory.keep();
        }
        at = next;
      }
    });
  }

  /** Milliseconds that the address has to wait; 0 if a check may be made now. */
  waitMs(address: string): number {
    return this.#memory.whole(() => {
      const at = this.#table.find(address);
      return at < 0 || this.#word(at, LIST) !== SPENT ? 0 : this.#waitOf(at);
    });
  }

  /** Counts failed checks against the address's budget. Returns the window that counts them. */
  failed(address: string, checks: number): number {
    return this.#memory.whole(() => {
      const nowMs = this.#clock.monotonicMs();
      const at = this.#openWindow(address, nowMs);
      const failures = this.#table.records.add(at * WIDTH + FAILURES, checks);
      if (failures >= this.#options.limit && this.#word(at, LIST) !== SPENT) {
        this.#setMoment(at, SECOND, nowMs);
        this.#move(at, SPENT, nowMs);
      }
      return this.#moment(at, CLOSES);
    });
  }

  /** Takes back a failed check that was counted in advance, unless its window has closed. */
  giveBack(address: string, window: number): void {
    this.#memory.whole(() => {
      const at = this.#table.find(address);
      if (at < 0 || this.#moment(at, CLOSES) !== window) return;
      const failures = this.#table.records.add(at * WIDTH + FAILURES, -1);
      const isSpent = this.#word(at, LIST) === SPENT;
      if (isSpent && failures < this.#options.limit) this.#move(at, COUNTING, this.#clock.monotonicMs());
    });
  }

  /** Whether another thread has verified this token, so that checking it again costs its address nothing. */
  hasPassed(tokenHash: string): boolean {
    const { ints } = this.#passed;
    const [low, high, place] = placeOf(tokenHash);
    return ints[place] === low && ints[place + 1] === high;
  }

  passed(tokenHash: string): void {
    const [low, high, place] = placeOf(tokenHash);
    // Needs no lock: two threads that write at once can only leave the hash of a token that nobody has.
    this.#passed.ints[place] = low;
    this.#passed.ints[place + 1] = high;
  }

  #waitOf(at: number): number {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isClosed(at, nowMs)) return 0;
    const { records } = this.#table;
    if (nowMs - this.#moment(at, SECOND) >= 1_000) {
      this.#setMoment(at, SECOND, nowMs);
      records.set(at * WIDTH + CHECKS, 0);
    }
    if (this.#word(at, CHECKS) >= this.#options.checksPerSecond) return this.#moment(at, CLOSES) - nowMs;
    records.add(at * WIDTH + CHECKS, 1);
    return 0;
  }

  #openWindow(address: string, nowMs: number): number {
    const current = this.#table.find(address);
    if (current >= 0 && !this.#isClosed(current, nowMs)) return current;
    if (current >= 0) this.#drop(current);
    this.#makeRoom(COUNTING, nowMs);
    const at = this.#table.add(address);
    this.#setMoment(at, CLOSES, nowMs + this.#options.periodMs);
    this.#setMoment(at, SECOND, nowMs);
    this.#join(at, COUNTING);
    return at;
  }

  /** Drops closed windows from the front of a list or, if that is not enough, the oldest. */
  #makeRoom(list: number, nowMs: number): void {
    const { ints } = this.#lists;
    for (let at = this.#oldest(list); at >= 0; at = this.#oldest(list)) {
      const isFull = (ints[list * LIST_WORDS + SIZE] ?? 0) >= this.#maxAddresses;
      if (!isFull && !this.#isClosed(at, nowMs)) return;
      this.#drop(at);
    }
  }

  #drop(at: number): void {
    this.#leave(at);
    this.#table.drop(at);
  }

  #move(at: number, list: number, nowMs: number): void {
    this.#leave(at);
    this.#makeRoom(list, nowMs);
    this.#join(at, list);
  }

  #join(at: number, list: number): void {
    const { records } = this.#table;
    const newest = this.#lists.ints[list * LIST_WORDS + NEWEST] ?? 0;
    records.set(at * WIDTH + LIST, list);
    records.set(at * WIDTH + OLDER, newest);
    records.set(at * WIDTH + NEWER, 0);
    this.#setNeighbour(newest - 1, NEWER, at + 1, list * LIST_WORDS + OLDEST);
    this.#lists.set(list * LIST_WORDS + NEWEST, at + 1);
    this.#lists.add(list * LIST_WORDS + SIZE, 1);
  }

  #leave(at: number): void {
    const list = this.#word(at, LIST) * LIST_WORDS;
    const [older, newer] = [this.#word(at, OLDER), this.#word(at, NEWER)];
    this.#setNeighbour(older - 1, NEWER, newer, list + OLDEST);
    this.#setNeighbour(newer - 1, OLDER, older, list + NEWEST);
    this.#lists.add(list + SIZE, -1);
  }

  /** Sets a word of a neighbour, or the end of the list if there is no neighbour. */
  #setNeighbour(at: number, word: number, value: number, end: number): void {
    if (at >= 0) this.#table.records.set(at * WIDTH + word, value);
    else this.#lists.set(end, value);
  }

  #oldest(list: number): number {
    return (this.#lists.ints[list * LIST_WORDS + OLDEST] ?? 0) - 1;
  }

  #isClosed(at: number, nowMs: number): boolean {
    return nowMs >= this.#moment(at, CLOSES) - this.#options.slackMs;
  }

  #word(at: number, word: number): number {
    return this.#table.ints[at * WIDTH + word] ?? 0;
  }

  #moment(at: number, word: number): number {
    return this.#table.floats[(at * WIDTH + word) >> 1] ?? 0;
  }

  #setMoment(at: number, word: number, ms: number): void {
    this.#table.records.setFloat((at * WIDTH + word) >> 1, ms);
  }
}

/** The words of a token's hash, and their place. */
function placeOf(tokenHash: string): readonly [number, number, number] {
  const hash = Buffer.from(tokenHash, 'base64url');
  const low = hash.readInt32LE(0);
  return [low, hash.readInt32LE(4), 2 * (low & (PASSED - 1))];
}

/** Enough to find out why one caller gets 401, and too few to cost much. */
const CHECKS_PER_SECOND = 10;
/** The word with the index of the oldest check. It follows the times, one for each check. */
const NEXT = 2 * CHECKS_PER_SECOND;

/**
 * Bounds the signature checks that only identify the owner of a refused token for the log. One bound for all issuers and
 * addresses, separate from every budget.
 */
export class OwnerChecks {
  readonly #clock: Clock;
  readonly #memory: TableMemory;
  /** For each of the last checks, the moment a second later, on the monotonic clock. */
  readonly #words: Words;

  constructor(clock: Clock, memory: TableMemory) {
    this.#clock = clock;
    this.#memory = memory;
    this.#words = memory.words('owner checks', NEXT + 2);
  }

  /** Counts another check and returns true, unless that would be too many. */
  take(): boolean {
    return this.#memory.whole(() => {
      const nowMs = this.#clock.monotonicMs();
      const next = this.#words.ints[NEXT] ?? 0;
      if (nowMs < (this.#words.floats[next] ?? 0)) return false;
      this.#words.setFloat(next, nowMs + 1_000);
      this.#words.set(NEXT, (next + 1) % CHECKS_PER_SECOND);
      return true;
    });
  }
}
