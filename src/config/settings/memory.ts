import { type Machine, usableMemory } from '../../core/index.ts';
import { isMap, type RawMap } from '../file/index.ts';
import type { MemoryDefaults } from './setting.ts';
import { workersWritten } from './workers.ts';

// How much memory clients may take, by the caps that bound it. docs/memory.md has the measurements (`npm run caps`).

const KIB = 1024;
const MIB = 1024 * KIB;

/** The process, and what each worker adds: idle, with the young objects of some load. */
const PROCESS_BYTES = 80 * MIB;
const WORKER_BYTES = 40 * MIB;

/** A cap on the number of something, with the memory that each takes. */
export interface CapCost {
  /** Its key in gateway.yaml. */
  readonly key: string;
  /** The name of one, for messages. */
  readonly one: string;
  /** Its default if memory is sufficient. */
  readonly most: number;
  /** What one takes, without the bytes waiting for its client: `caps.buffered` bounds those. */
  bytes(workers: number): number;
}

/** The caps whose defaults depend on the memory, and what each allows. */
export const CAP_COSTS = {
  connections: {
    key: 'caps.connections',
    one: 'an idle connection over TLS',
    most: 20_000,
    bytes: () => 64 * KIB,
  },
  requests: {
    key: 'caps.requests',
    one: 'a request or call with its connection to the upstream',
    most: 10_000,
    bytes: () => 18 * KIB,
  },
  webSockets: {
    key: 'upstreams.NAME.max_websockets',
    one: 'a WebSocket with its connection to the upstream',
    most: 10_000,
    bytes: () => 18 * KIB,
  },
  limitKeys: {
    key: 'caps.limit_keys',
    one: 'a counter, with its part of the tables',
    most: 1_000_000,
    // Counters and offences are shared. Restrictions, and names in the log, exist per thread.
    bytes: workers => 160 + 140 * threadsOf(workers),
  },
  tokens: {
    key: 'access_tokens.cache.tokens',
    one: 'a known token',
    most: 50_000,
    bytes: workers => 2 * KIB * workers,
  },
} as const satisfies Readonly<Record<string, CapCost>>;

/** With several workers, the main thread serves nobody, but it holds restrictions as well. */
function threadsOf(workers: number): number {
  return workers === 1 ? 1 : workers + 1;
}

/** The rest is for garbage that was not collected yet, and for what the allocator retains. */
const PART_FOR_CAPS = 0.9;

/** With little memory, default caps are a fraction of their full numbers, but never less than this one. */
const MIN_PART = 1 / 100;

const MIN_BUFFERED = 64 * MIB;
const MAX_BUFFERED = 1024 * MIB;

/** The memory of the process without connections. */
export function processBytes(workers: number): number {
  return PROCESS_BYTES + workers * WORKER_BYTES;
}

/** A quarter of the memory, in whole MiB. */
function defaultBufferedBytes(usableBytes: number): number {
  const quarter = Math.floor(usableBytes / 4 / MIB) * MIB;
  return Math.min(Math.max(quarter, MIN_BUFFERED), MAX_BUFFERED);
}

/** What all of these caps allow at their full numbers, with one upstream that serves WebSockets. */
export function fullBytes(workers: number): number {
  return Object.values(CAP_COSTS).reduce((sum, { most, bytes }) => sum + most * bytes(workers), 0);
}

/** Default maximum of connections or requests of an address. */
export const MAX_OF_ADDRESS = 1_000;

export function memoryDefaults({ workers = 1 }: RawMap, machine: Machine): MemoryDefaults {
  const usableBytes = usableMemory(machine);
  const room = roomForCaps(usableBytes, workersWritten(workers, machine));
  const part = (most: number, among = 1) => Math.max(1, Math.min(most, Math.floor((most * room) / among)));
  return { part, bufferedBytes: defaultBufferedBytes(usableBytes) };
}

/**
 * Returns how many times the full numbers fit into nine tenths of the memory, less the process and `caps.buffered`. Below 1, it
 * is the fraction that caps have by default.
 */
export function roomForCaps(usableBytes: number, workers: number): number {
  const left = PART_FOR_CAPS * usableBytes - processBytes(workers) - defaultBufferedBytes(usableBytes);
  return Math.max(MIN_PART, left / fullBytes(workers));
}

/** Adds missing keys to a map. In place, since the file fills in the values of variables later. */
export function fillIn(map: unknown, defaults: RawMap): void {
  if (!isMap(map)) return;
  for (const [key, value] of Object.entries(defaults))
    if (map[key] === undefined) Object.assign(map, { [key]: value });
}

/** What clients may take under the caps of one configuration, and the memory available. In bytes. */
export interface MemoryModel {
  /** What the process may use. */
  readonly usableBytes: number;
  /** The process and everything that its caps allow. */
  readonly totalBytes: number;
  /** The parts of the total, the largest first. */
  readonly needs: readonly MemoryNeed[];
}

export interface MemoryNeed {
  /** The key of gateway.yaml; `workers` for the process itself. */
  readonly key: string;
  readonly bytes: number;
}

export function exceedsMemory({ totalBytes, usableBytes }: MemoryModel): boolean {
  return totalBytes > usableBytes;
}

/** `480 MiB of 512 MiB`, and the caps that allow most if that is too much. */
export function memoryInWords(memory: MemoryModel): string {
  const { totalBytes, usableBytes, needs } = memory;
  const [most] = needs.filter(({ key }) => key !== 'workers');
  const why =
    exceedsMemory(memory) && most !== undefined ? `, most of it ${most.key} (${mib(most.bytes)})` : '';
  return `${mib(totalBytes)} of ${mib(usableBytes)}${why}`;
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
