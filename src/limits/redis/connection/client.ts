import { Cluster, Redis } from 'ioredis';
import { inNextTurn, type Timer, type TimerClock } from '../../../core/index.ts';
import type { RedisOptions } from '../options.ts';

/** How many reads make V8 remember what a function reads. Fewer would suffice. */
const READS = 1_000;

/**
 * Undoes the effect of loading ioredis 6 on all strings. Its `class VerbatimString extends String` makes V8 turn the prototype of
 * strings into a dictionary, where each call of a method such as `charCodeAt` looks it up and none is inlined into its caller. V8
 * turns a prototype back when properties are read through an object that inherits from it, which strings are not.
 */
function keepStringsFast(): void {
  const inheriting: object = Object('');
  for (let i = 0; i < READS; i++) readThrough(inheriting);
}

function readThrough(object: object): unknown {
  return object.valueOf;
}

keepStringsFast();

/** Time between attempts to connect. Short, because the gateway has to use Redis again within 2 s of its return. */
const RETRY_MS = 100;
const CONNECT_MS = 1_000;
/** A cluster node that owes a response and sends nothing for this long is disconnected, even during the handshake. */
const SILENCE_MS = 1_000;
const SLOTS_REFRESH_MS = 1_000;

/**
 * Makes a client that neither queues nor resends commands: a command that cannot be sent now fails now. The one exception is a
 * command that a cluster node redirects: it has not run, and goes to the node that owns the slot.
 */
export function makeClient(options: RedisOptions): Redis | Cluster {
  const { servers } = options;
  if (servers.kind === 'cluster') {
    return new Cluster([...servers.nodes], {
      redisOptions: { ...common(options), socketTimeout: SILENCE_MS },
      enableOfflineQueue: false,
      lazyConnect: true,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      maxRedirections: 4,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      slotsRefreshTimeout: CONNECT_MS,
      clusterRetryStrategy: () => RETRY_MS,
      // Leave name resolution to the socket: certificates are checked against names.
      dnsLookup: (host, found) => found(null, host),
    });
  }
  return new Redis({ ...common(options), ...placeOf(options), lazyConnect: true });
}

function placeOf({ servers, tls }: RedisOptions) {
  if (servers.kind === 'standalone') return { ...servers.address, db: servers.database };
  if (servers.kind === 'cluster') return {};
  const { user, password } = servers.credentials;
  return {
    sentinels: [...servers.sentinels],
    name: servers.master,
    role: 'master' as const,
    db: servers.database,
    ...(user !== null && { sentinelUsername: user }),
    ...(password !== null && { sentinelPassword: password }),
    ...(tls !== null && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    sentinelRetryStrategy: () => RETRY_MS,
  };
}

function common({ credentials, tls }: RedisOptions) {
  return {
    ...(credentials.user !== null && { username: credentials.user }),
    ...(credentials.password !== null && { password: credentials.password }),
    ...(tls !== null && { tls }),
    connectionName: 'weir',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // `RedisConnection` resubscribes, and handles a refusal: ioredis leaves that rejection unhandled, which ends the process.
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    // The probes find out whether the server is usable, and need no permission for INFO.
    enableReadyCheck: false,
    connectTimeout: CONNECT_MS,
    retryStrategy: () => RETRY_MS,
    // The master has become a replica: reconnecting finds the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
}

/** An entry waiting for a response. */
export interface Waiting {
  /** Set by the queue. */
  dueMs: number;
}

/**
 * Enforces one deadline for all responses with a single timer: one per response would cost more than the rest of a command. The
 * timer is not moved when a response arrives; when it fires, it checks what is still waiting.
 */
export class Deadlines<W extends Waiting> {
  readonly #clock: TimerClock;
  readonly #budgetMs: number;
  readonly #overdue: (late: readonly W[]) => void;
  /** The responses in the order of their deadlines. */
  readonly #waiting = new Set<W>();
  #timer: Timer | null = null;

  /** `overdue` is called with those that waited too long; they are no longer watched. */
  constructor(clock: TimerClock, budgetMs: number, overdue: (late: readonly W[]) => void) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    this.#overdue = overdue;
  }

  add(waiting: W): void {
    waiting.dueMs = this.#clock.monotonicMs() + this.#budgetMs;
    this.#waiting.add(waiting);
    this.#timer ??= this.#arm(this.#budgetMs);
  }

  /** False if it was already reported as overdue. */
  remove(waiting: W): boolean {
    return this.#waiting.delete(waiting);
  }

  #arm(ms: number): Timer {
    return this.#clock.after(ms, () => {
      const [first] = this.#waiting;
      const leftMs = first === undefined ? 0 : first.dueMs - this.#clock.monotonicMs();
      if (first === undefined) this.#timer = null;
      else if (leftMs > 0) this.#timer = this.#arm(leftMs);
      // If this process was paused, the responses may be in the socket's buffer, which is read after timers run.
      else inNextTurn(() => this.#takeOverdue());
    });
  }

  #takeOverdue(): void {
    const nowMs = this.#clock.monotonicMs();
    const late: W[] = [];
    let nextMs = -1;
    for (const waiting of this.#waiting) {
      if (waiting.dueMs > nowMs) {
        nextMs = waiting.dueMs - nowMs;
        break;
      }
      late.push(waiting);
    }
    for (const waiting of late) this.#waiting.delete(waiting);
    this.#timer = nextMs < 0 ? null : this.#arm(nextMs);
    if (late.length > 0) this.#overdue(late);
  }
}
