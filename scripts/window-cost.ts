// Measures what a quota of a day takes of memory, and what a second window adds to that and to the processor time of a decision: in
// the memory of a gateway, and in Redis. Cases take turns, so that other work on the machine meets all of them.
// node --expose-gc scripts/window-cost.ts [CALLERS] [ROUNDS]
import { randomBytes } from 'node:crypto';
import { figureOf } from '../bench/measure/figures.ts';
import { cpuMicroseconds } from '../bench/measure/processes.ts';
import { startRedis } from '../bench/world/redis.ts';
import { systemClock, withTimers } from '../src/core/index.ts';
import {
  defineLimit,
  type LimitSet,
  type LimitStore,
  MemoryStore,
  NO_LIMITS,
  parseQuota,
} from '../src/limits/index.ts';
import { RedisConnection } from '../src/limits/redis/index.ts';
import { storeOn } from '../test/store/parts.ts';
import { waitFor } from '../test/support/wait.ts';

const CALLERS = Number(process.argv[2] ?? 5_000_000);
const ROUNDS = Number(process.argv[3] ?? 9);
/** Decisions of one case in one round. */
const DECISIONS = { memory: 500_000, redis: 20_000 };
/** Callers of a round, who are known. */
const KNOWN = 10_000;
/** Decisions under way at Redis. */
const AT_ONCE = 64;
/** No reply is too late. */
const PATIENT_MS = 600_000;

const day = parseQuota('1000000000/day');
const second = parseQuota('1000000000/1h');
const SETS = {
  'one window': setOf(day),
  'two windows': setOf({ ...day, more: [second] }),
};
type Case = keyof typeof SETS;

function setOf(quota: typeof day): LimitSet {
  const caller = defineLimit({ role: 'caller', bucket: 'b', main: null, algorithm: 'window', quota });
  return { ...NO_LIMITS, caller };
}

/** One flat string, as from the wire. */
const callerOf = (number: number) =>
  Buffer.from(`user:web:${number.toString(16).padStart(28, '0')}`).toString();

for (const [name, limits] of Object.entries(SETS))
  console.log(`memory, ${name}: ${bytesOfCaller(limits).toFixed(0)} B a caller`);
const known = Array.from({ length: KNOWN }, (_, n) => callerOf(n));
await compare('memory', 1_000, 'ns', async limits => {
  const store = memoryStore(4 * KNOWN);
  for (const each of known) store.decide(limits, each, '');
  const before = process.cpuUsage();
  for (let n = 0, at = 0; n < DECISIONS.memory; n++, at = (at + 7_919) % KNOWN)
    store.decide(limits, known[at] ?? '', '');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / DECISIONS.memory;
});

const redis = await startRedis();
if (redis === null) throw new Error('Redis is not installed');
const connection = new RedisConnection(
  {
    servers: { kind: 'standalone', address: { host: '127.0.0.1', port: redis.port }, database: 0 },
    credentials: { user: null, password: null },
    ...{ tls: null, prefix: 'weir:', budgetMs: PATIENT_MS },
  },
  { clock: withTimers(systemClock) },
);
connection.start();
await waitFor('Redis is ready', () => connection.isReady);
for (const [name, limits] of Object.entries(SETS)) {
  await connection.command('flushall');
  const store = storeOn(connection);
  await decideAll(store, limits, 100, callerOf);
  const before = await usedByRedis();
  await decideAll(store, limits, CALLERS, n => callerOf(100 + n));
  console.log(`Redis, ${name}: ${(((await usedByRedis()) - before) / CALLERS).toFixed(0)} B a caller`);
}
const ofRedis = new Map<Case, number[]>();
await compare('gateway with Redis', 1, 'us', async (limits, name) => {
  await connection.command('flushall');
  const store = storeOn(connection);
  await decideAll(store, limits, KNOWN, callerOf);
  const [before, theirs] = [process.cpuUsage(), cpuMicroseconds(redis.pid)];
  await decideAll(store, limits, DECISIONS.redis, n => known[(n * 7_919) % KNOWN] ?? '');
  const { user, system } = process.cpuUsage(before);
  ofRedis.set(name, [...(ofRedis.get(name) ?? []), (cpuMicroseconds(redis.pid) - theirs) / DECISIONS.redis]);
  return (user + system) / DECISIONS.redis;
});
report('Redis itself', 1, 'us', ofRedis);
connection.stop();
await redis.stop();

/** @param measure returns the processor time of a decision in microseconds */
async function compare(
  title: string,
  scale: number,
  unit: string,
  measure: (limits: LimitSet, name: Case) => Promise<number>,
): Promise<void> {
  const micros = new Map<Case, number[]>();
  for (let round = 0; round <= ROUNDS; round++)
    for (const name of ['one window', 'two windows'] as const) {
      const spent = await measure(SETS[name], name);
      if (round > 0) micros.set(name, [...(micros.get(name) ?? []), spent]);
    }
  report(title, scale, unit, micros);
}

/** Prints what a decision takes with each of them, and the difference of each pair. */
function report(
  title: string,
  scale: number,
  unit: string,
  micros: ReadonlyMap<Case, readonly number[]>,
): void {
  const [one = [], two = []] = [micros.get('one window'), micros.get('two windows')];
  const more = two.map((spent, round) => spent - (one[round] ?? 0));
  const lines = { 'one window': one, 'two windows': two, 'the second': more };
  for (const [name, values] of Object.entries(lines)) {
    const { median, lowest, highest } = figureOf(values.map(value => value * scale));
    const [middle, low, high] = [median, lowest, highest].map(value => value.toFixed(scale === 1 ? 1 : 0));
    console.log(`${title}, ${name}: ${middle} ${unit} a decision (${low} to ${high})`);
  }
}

/** In a function of its own, so that nothing of it is left when the next begins. */
function bytesOfCaller(limits: LimitSet): number {
  const before = usedBytes();
  const counters = CALLERS * (1 + (limits.caller?.more.length ?? 0));
  const store = memoryStore(counters);
  for (let n = 0; n < CALLERS; n++) store.decide(limits, callerOf(n), '');
  const bytes = usedBytes() - before;
  if (store.counts.keys !== counters) throw new Error(`${store.counts.keys} counters`);
  return bytes / CALLERS;
}

async function decideAll(store: LimitStore, limits: LimitSet, count: number, who: (n: number) => string) {
  let next = 0;
  const work = async () => {
    while (next < count) await store.decide(limits, who(next++), '');
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function memoryStore(maxKeys: number): MemoryStore {
  return new MemoryStore({ clock: systemClock, randomBytes, maxKeys });
}

/** Of heap and array buffers, after a collection. */
function usedBytes(): number {
  if (globalThis.gc === undefined) throw new Error('needs --expose-gc');
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function usedByRedis(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(String(await connection.command('info', 'memory')))?.[1]);
}
