// The memory store alone, in this process, without a request around it: prints bytes a key and nanoseconds a decision as JSON.
import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '../../src/core/index.ts';
import {
  defineConcurrency,
  defineLimit,
  type LimitSet,
  MemoryStore,
  NO_LIMITS,
} from '../../src/limits/index.ts';

export interface DecisionFigures {
  /** Of heap and array buffers, after a collection. */
  readonly bytesPerCaller: number;
  readonly bytesPerMainValue: number;
  readonly nanosecondsOneLimit: number;
  readonly nanosecondsTwoLimits: number;
  /** The place that the request takes and gives back included. */
  readonly nanosecondsTwoLimitsAndPlace: number;
  readonly nanosecondsRefusal: number;
}

const KEYS = 1_000_000;
const MAIN_VALUES_PER_CALLER = 1_000;
const DECISIONS = 2_000_000;

const quota = { units: 65_535, periodMs: 64_800_000 };
const window = { algorithm: 'window', quota } as const;
const global = defineLimit({ ...window, role: 'global', bucket: '', main: null });
const caller = defineLimit({ ...window, role: 'caller', bucket: 'b', main: 'id' });
const spent = defineLimit({
  ...window,
  role: 'caller',
  bucket: 's',
  main: null,
  quota: { units: 1, periodMs: quota.periodMs },
});
const oneLimit: LimitSet = { ...NO_LIMITS, caller };
const twoLimits: LimitSet = { ...NO_LIMITS, global, caller };
const concurrent = defineConcurrency('b', 'id', 10);

function usedBytes(): number {
  if (globalThis.gc === undefined) throw new Error('needs --expose-gc');
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Measures the bytes per key of a store with one key for each of the pairs. */
function bytesPerKey(callers: readonly string[], mains: readonly string[]): number {
  const before = usedBytes();
  const store = newStore();
  for (const each of callers) for (const main of mains) store.decide(oneLimit, each, main);
  const bytes = usedBytes() - before;
  if (store.counts.keys !== KEYS) throw new Error(`${store.counts.keys} keys`);
  return bytes / KEYS;
}

/** Reserves only what is used: unused room would count towards the bytes per key. */
function newStore(): MemoryStore {
  return new MemoryStore({ clock: systemClock, randomBytes, maxKeys: KEYS });
}

/** Nanoseconds a decision for callers that are known, in an order that no cache foresees. */
function nanoseconds(store: MemoryStore, limits: LimitSet, callers: readonly string[], main: string): number {
  for (const each of callers) store.decide(limits, each, main).place?.leave();
  const step = 7_919;
  const start = process.hrtime.bigint();
  for (let i = 0, at = 0; i < DECISIONS; i++) {
    store.decide(limits, callers[at] ?? '', main).place?.leave();
    at = (at + step) % callers.length;
  }
  return Number(process.hrtime.bigint() - start) / DECISIONS;
}

/** Makes one flat string, as from the wire: a string of pieces would shrink at its first look-up. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

const subjects = Array.from({ length: KEYS }, () => flat(randomUUID()));
const mainValues = Array.from({ length: MAIN_VALUES_PER_CALLER }, () => randomBytes(10).toString('hex'));
const few = subjects.slice(0, 10_000);
const main = mainValues[0] ?? '';
const figures: DecisionFigures = {
  bytesPerCaller: bytesPerKey(subjects, [main]),
  bytesPerMainValue: bytesPerKey(subjects.slice(0, KEYS / MAIN_VALUES_PER_CALLER), mainValues),
  nanosecondsOneLimit: nanoseconds(newStore(), oneLimit, few, main),
  nanosecondsTwoLimits: nanoseconds(newStore(), twoLimits, few, main),
  nanosecondsTwoLimitsAndPlace: nanoseconds(newStore(), { ...twoLimits, concurrent }, few, main),
  nanosecondsRefusal: nanoseconds(newStore(), { ...NO_LIMITS, global, caller: spent }, few, ''),
};
console.log(JSON.stringify(figures));
