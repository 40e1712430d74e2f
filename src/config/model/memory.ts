// What clients may hold of the memory, by the caps that bound it. docs/memory.md has the measurements (`npm run caps`).

const KIB = 1024;
const MIB = 1024 * KIB;

/** The process, and what each worker adds: at rest, with the young objects of some load. */
const PROCESS_BYTES = 80 * MIB;
const WORKER_BYTES = 40 * MIB;

/** A cap on how many of something there are, each of which takes as much. */
export interface CapCost {
  /** Its key in gateway.yaml. */
  readonly key: string;
  /** What one is, for people. */
  readonly one: string;
  /** Its default where memory is enough. */
  readonly most: number;
  /** What one takes, without the bytes that wait for its client: `caps.buffered` bounds those. */
  bytes(workers: number): number;
}

/** The caps whose defaults follow the memory, with what each lets in. */
export const CAP_COSTS = {
  connections: {
    key: 'caps.connections',
    one: 'a connection over TLS that rests',
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
    one: 'a counter, with its part of the tables beside it',
    most: 1_000_000,
    // Counters and offences are shared. Restrictions, and names in the log, are in each thread.
    bytes: workers => 160 + 140 * threadsOf(workers),
  },
  tokens: {
    key: 'access_tokens.cache.tokens',
    one: 'a known token',
    most: 50_000,
    bytes: workers => 2 * KIB * workers,
  },
} as const satisfies Readonly<Record<string, CapCost>>;

/** The main thread of several workers serves nobody, but knows who is restricted. */
function threadsOf(workers: number): number {
  return workers === 1 ? 1 : workers + 1;
}

/** The rest is for garbage that was not collected yet, and for what the allocator keeps. */
const PART_FOR_CAPS = 0.9;

/** The least part of its full number that a cap has by default, however little memory there is. */
const LEAST_PART = 1 / 100;

const LEAST_BUFFERED = 64 * MIB;
const MOST_BUFFERED = 1024 * MIB;

/** What the process takes with nobody connected. */
export function processBytes(workers: number): number {
  return PROCESS_BYTES + workers * WORKER_BYTES;
}

/** A quarter of the memory, in whole MiB. */
export function defaultBufferedBytes(usableBytes: number): number {
  const quarter = Math.floor(usableBytes / 4 / MIB) * MIB;
  return Math.min(Math.max(quarter, LEAST_BUFFERED), MOST_BUFFERED);
}

/** What all of these caps let in at their full numbers, with one upstream that serves WebSockets. */
export function fullBytes(workers: number): number {
  return Object.values(CAP_COSTS).reduce((sum, { most, bytes }) => sum + most * bytes(workers), 0);
}

/**
 * Returns how many times the full numbers fit into what nine tenths of the memory leave beside the process and `caps.buffered`. Below 1,
 * it is the part of them that caps have by default.
 */
export function roomForCaps(usableBytes: number, workers: number): number {
  const left = PART_FOR_CAPS * usableBytes - processBytes(workers) - defaultBufferedBytes(usableBytes);
  return Math.max(LEAST_PART, left / fullBytes(workers));
}

/** What clients may take, by the caps of one configuration, beside the memory there is. Bytes. */
export interface MemoryModel {
  /** What the process may use. */
  readonly usableBytes: number;
  /** What the process and all that its caps let in take together. */
  readonly totalBytes: number;
  /** What that is made of, the largest first. */
  readonly needs: readonly MemoryNeed[];
}

export interface MemoryNeed {
  /** The key of gateway.yaml; `workers` for the process itself. */
  readonly key: string;
  readonly bytes: number;
}

/** Whether the caps allow more than there is. */
export function exceedsMemory({ totalBytes, usableBytes }: MemoryModel): boolean {
  return totalBytes > usableBytes;
}

/** `480 MiB of 512 MiB`, and what allows most if that is too much. */
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
