// A thread that decides on few keys as fast as it can, until so many windows have been used up, and checks each decision: what it
// notes lies in the same memory and is part of the same change.
import { randomBytes } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { type Clock, SharedMemory, type TableMemory, type Words } from '../../../src/core/index.ts';
import type { Limit } from '../../../src/limits/index.ts';
import { defineLimit, MemoryStore, NO_LIMITS } from '../../../src/limits/index.ts';
import { windowIn } from './stores.ts';

const MAINS = ['a', 'b', 'c'];
const GROUPS = ['one', 'two'];
const PERIOD_MS = 1_000;
/** So many refusals move the clock on. */
const REFUSALS = 6;

const quota = (units: number) =>
  ({ algorithm: 'window', windowSlackMs: 0, quota: { units, periodMs: PERIOD_MS } }) as const;
const group = defineLimit({ ...quota(3), role: 'group', bucket: 'b', main: 'm', claim: 'organization' });
const resource = defineLimit({ ...quota(5), role: 'resource', bucket: 'b', main: 'm' });
const SET = { ...NO_LIMITS, group, resource };

/** What a thread of the test is handed. */
export interface CountingSeed {
  readonly memory: SharedMemory['handover'];
  readonly worker: number;
  /** Milliseconds, moved by each thread that is refused too often. */
  readonly clock: SharedArrayBuffer;
  readonly maxKeys: number;
  /** How many windows are to be used up. */
  readonly windows: number;
}

// Words of each counter's notes: the window (a float), its units as admitted, and whether it was found used up.
const COUNT = 2;
const USED_UP = 3;
const WIDTH = 4;
// Words of all notes together, before them.
export const MISTAKES = 0;
export const WINDOWS = 1;
/** The decisions of each thread follow. */
export const DECISIONS = 2;
const FIRST = 4 * WIDTH;

/** What the threads note, in the memory that they count in. */
export function notesIn(memory: TableMemory): Words {
  return memory.words('notes', FIRST + MAINS.length * (1 + GROUPS.length) * WIDTH);
}

/** The clock that the threads move. It stands still within a change. */
export class SharedClock implements Clock {
  readonly #ms: Int32Array;
  #nowMs = 0;

  constructor(clock: SharedArrayBuffer) {
    this.#ms = new Int32Array(clock);
  }

  read(): void {
    this.#nowMs = 1_000 + Atomics.load(this.#ms, 0);
  }

  advance(ms: number): void {
    Atomics.add(this.#ms, 0, ms);
    this.read();
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  epochMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }
}

function count({ memory: handover, worker, clock, maxKeys, windows }: CountingSeed): void {
  const memory = new SharedMemory(handover, worker);
  const notes = notesIn(memory);
  const time = new SharedClock(clock);
  const store = new MemoryStore({ clock: time, randomBytes, memory, maxKeys });
  let refusals = 0;
  for (let turn = worker; (notes.ints[WINDOWS] ?? 0) < windows; turn++) {
    const main = turn % MAINS.length;
    const of = turn % GROUPS.length;
    // A group has a counter for each main value.
    const ofGroup = MAINS.length + of * MAINS.length + main;
    const admitted = memory.whole(() => {
      time.read();
      notes.add(DECISIONS + worker, 1);
      const decision = store.decide(SET, `user:${turn % 5}`, MAINS[main] ?? '', GROUPS[of] ?? '');
      if (!decision.admitted) {
        const refused = decision.role === 'group' ? group : resource;
        noteRefusal(notes, refused === group ? ofGroup : main, refused);
        return false;
      }
      note(notes, main, windowIn(decision, 'resource'), resource);
      note(notes, ofGroup, windowIn(decision, 'group'), group);
      // Some requests are of no use to their callers.
      if (turn % 11 === 0) giveBack(store, notes, main, windowIn(decision, 'resource'));
      return true;
    });
    refusals = admitted ? 0 : refusals + 1;
    if (refusals === REFUSALS) time.advance(100 + (turn % 7) * 150);
    if (refusals === REFUSALS) refusals = 0;
  }
}

function startOf(counter: number): number {
  return FIRST + counter * WIDTH;
}

/** Admitted: the window has one unit more. */
function note(notes: Words, counter: number, window: number, { units }: Limit): void {
  const start = startOf(counter);
  if (notes.floats[start / 2] !== window) {
    notes.add(WINDOWS, notes.ints[start + USED_UP] ?? 0);
    notes.setFloat(start / 2, window);
    notes.set(start + COUNT, 0);
    notes.set(start + USED_UP, 0);
  }
  if (notes.add(start + COUNT, 1) > units) notes.add(MISTAKES, 1);
}

/** Refused: the window has exactly the units of its limit. */
function noteRefusal(notes: Words, counter: number, { units }: Limit): void {
  const start = startOf(counter);
  if (notes.ints[start + COUNT] !== units) notes.add(MISTAKES, 1);
  notes.set(start + USED_UP, 1);
}

function giveBack(store: MemoryStore, notes: Words, main: number, window: number): void {
  store.refund(resource, MAINS[main] ?? '', window);
  notes.add(startOf(main) + COUNT, -1);
}

if (workerData?.windows !== undefined) count(workerData);
