import { CAP_COSTS, processBytes, type Snapshot } from '../config/index.ts';
import { type Limit, windowsOf } from '../limits/index.ts';
import { type CapacityFigures, FIGURES } from './capacity-figures.ts';
import { UsageError } from './command.ts';

export interface Load {
  readonly requests: number;
  readonly websockets: number;
  /** Callers who are counted within their longest window. */
  readonly callers: number;
}

/** Leaves processor time for peaks, and for a pod that is being replaced. */
const USED_PART = 0.7;
/** Leaves memory for garbage, and for what the allocator keeps. */
const MEMORY_PART = 0.9;

/** Reads `requests=20000,websockets=30000,callers=5000000`; what is left out is 0. */
export function parseLoad(text: string): Load {
  const load: Record<keyof Load, number> = { requests: 0, websockets: 0, callers: 0 };
  for (const part of text.split(',')) {
    const [name = '', value = ''] = part.split('=');
    if (!Object.hasOwn(load, name) || !/^\d{1,12}$/.test(value))
      throw new UsageError(
        `"${part}" in --capacity: expected requests=20000,websockets=30000,callers=5000000`,
      );
    load[name as keyof Load] = Number(value);
  }
  return load;
}

/** The resources of a pod, one of which decides how many pods a load needs. */
type Resource = 'processor' | 'memory' | 'max_websockets' | 'file descriptors';

export type Capacity = ReturnType<typeof capacityOf>;

/**
 * How many pods of a configuration a load needs, and what they consume, by the formula of docs/capacity.md. Without Redis each pod
 * counts alone.
 *
 * @param figures default: the measured ones
 */
export function capacityOf(snapshot: Snapshot, load: Load, figures: CapacityFigures = FIGURES) {
  const { workers, caps, memory, store, descriptors, upstreams, listen } = snapshot;
  const { requestMicroseconds: cost, connectionBytes } = figures;
  const requestMicroseconds = costOf(snapshot, cost);
  const cores = (load.requests * requestMicroseconds) / 1e6;
  const isShared = store.kind === 'redis';
  const { plain, withMain } = countersOfCaller(snapshot);
  const counters = load.callers * (plain + withMain);
  const redisBytes = load.callers * (plain * figures.redisCounterBytes + withMain * figures.redisMainBytes);
  const ofTls = listen.http.tls === null ? 0 : connectionBytes.tls - connectionBytes.plain;
  const sockets = load.websockets * (connectionBytes.webSocket + ofTls);
  const base =
    processBytes(workers.count) +
    caps.bufferedBytes / 4 +
    (isShared ? 0 : counters * CAP_COSTS.limitKeys.bytes(workers.count));
  const maxWebSockets = Math.min(caps.connections, sum(upstreams.map(({ pools }) => pools.websockets.max)));
  const forSockets = (descriptors.limit ?? Infinity) - descriptors.kept;
  const needed: readonly (readonly [Resource, number])[] = [
    ['processor', cores / (workers.count * USED_PART)],
    ['memory', sockets / Math.max(0, MEMORY_PART * memory.usableBytes - base)],
    ['max_websockets', load.websockets / maxWebSockets],
    ['file descriptors', (2 * load.websockets) / forSockets],
  ];
  // An unused resource needs no pod, even if none is available: 0 / 0.
  const most = needed.reduce((one, other) => ((other[1] || 0) > (one[1] || 0) ? other : one));
  const pods = Math.max(1, Math.ceil(most[1] || 0));
  return {
    pods,
    by: most[0],
    requestMicroseconds,
    cores,
    memoryBytesOfPod: base + sockets / pods,
    redis: isShared ? { cores: (load.requests * cost.ofRedis) / 1e6, bytes: redisBytes } : null,
  };
}

/** A capacity in lines, the number of pods first. */
export function capacityInWords(capacity: Capacity, load: Load): string {
  const { pods, by, requestMicroseconds, cores, memoryBytesOfPod, redis } = capacity;
  const { requests, websockets, callers } = load;
  const wanted = `${requests} requests a second, ${websockets} WebSockets, ${callers} callers`;
  const several = Number.isFinite(pods)
    ? `${pods} ${pods === 1 ? 'pod' : 'pods'}`
    : 'more than any number of pods';
  const counting =
    redis === null
      ? `without Redis each pod counts alone${pods > 1 ? `: all together admit up to ${pods} times each limit` : ''}`
      : `Redis: ${redis.cores.toFixed(2)} cores${redis.cores > USED_PART ? ', more than one Redis has: use a cluster' : ''}, ${mib(redis.bytes)}`;
  return [
    `capacity for ${wanted}: ${several}, by ${by}, and one more so that one can fail`,
    `  processor: ${requestMicroseconds.toFixed(1)} µs a request, ${cores.toFixed(2)} cores in all`,
    `  memory of a pod: ${mib(memoryBytesOfPod)}`,
    `  ${counting}`,
    '',
  ].join('\n');
}

/** The processor time of one request, by the features that the configuration uses. */
function costOf(snapshot: Snapshot, cost: CapacityFigures['requestMicroseconds']): number {
  const { log, identity, limits, store, listen } = snapshot;
  const isLogged = log.access && ['trace', 'debug', 'info'].includes(log.level);
  const isCounted =
    identity !== null || limits.buckets.length > 0 || limits.global.all.some(set => set.global !== null);
  return sum([
    cost.plain,
    isCounted ? cost.tokenAndLimits : 0,
    isLogged ? cost.log : 0,
    listen.http.tls === null ? 0 : cost.tls,
    store.kind === 'redis' ? cost.redis : 0,
  ]);
}

/**
 * The counters of a caller who uses one bucket, with one main value: one for each window of the global limit and of the bucket with
 * the most windows. Counters that callers share, for groups and resources, are too few to matter.
 */
function countersOfCaller({ limits: { global, buckets } }: Snapshot) {
  const most = (limits: readonly (Limit | null)[]) =>
    Math.max(0, ...limits.map(each => windowsOf(each).length));
  const ofGlobal = most(global.all.map(set => set.global));
  const ofBucket = most(buckets.flatMap(({ sets }) => sets.all.map(set => set.caller)));
  const withMain = buckets.some(({ main }) => main !== null) ? 1 : 0;
  return { plain: ofGlobal + Math.max(0, ofBucket - withMain), withMain };
}

function sum(parts: readonly number[]): number {
  return parts.reduce((all, part) => all + part, 0);
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}
