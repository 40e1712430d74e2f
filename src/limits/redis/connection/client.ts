import { AbstractConnector, Cluster, Redis } from 'ioredis';
import { inNextTurn, type Timer, type TimerClock } from '../../../core/index.ts';
import type { RedisOptions } from '../options.ts';
import { hasCode, WRONG_SERVER } from './error-codes.ts';
import { isWithoutHost, useAskedHosts } from './unknown-endpoints.ts';

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

/**
 * Lets a socket have errors after ioredis has closed it: ioredis listens for the first alone, so another one would end the process. A
 * server answers a connection that is closed during its TLS handshake with an alert, and a cluster is asked for its slots over a
 * connection of its own, which is closed when that takes too long.
 */
function outliveErrorsOfClosed(): void {
  const connectors = AbstractConnector.prototype as unknown as {
    disconnect: (this: { readonly stream?: NodeJS.EventEmitter }) => void;
  };
  const { disconnect } = connectors;
  connectors.disconnect = function () {
    this.stream?.on('error', () => {});
    disconnect.call(this);
  };
}

outliveErrorsOfClosed();

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
    const [first] = servers.nodes;
    const cluster = new Cluster([...servers.nodes], {
      redisOptions: { ...common(options), socketTimeout: SILENCE_MS },
      enableOfflineQueue: false,
      lazyConnect: true,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      // Try again at once: the budget of a decision is short.
      retryDelayOnTryAgain: 1,
      // The probes find out whether the cluster is usable, and need no permission for CLUSTER INFO.
      enableReadyCheck: false,
      maxRedirections: 4,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      slotsRefreshTimeout: CONNECT_MS,
      clusterRetryStrategy: () => RETRY_MS,
      // Leave name resolution to the socket: certificates are checked against names.
      dnsLookup: (host, found) => found(null, host),
      natMap: node =>
        first !== undefined && isWithoutHost(node)
          ? { host: first.host, port: Number(node.slice(node.indexOf(':') + 1)) }
          : null,
    });
    useAskedHosts(cluster);
    return cluster;
  }
  const client = new Redis({ ...common(options), ...placeOf(options), lazyConnect: true });
  // ioredis would go on in database 0, which is somebody else's.
  client.on('error', (error: Error & { readonly command?: { readonly name: string } }) => {
    if (error.command?.name === 'select') client.stream.destroy();
  });
  return client;
}

/** Gives a client other credentials and certificates: connections that it makes from now on use them. */
export function useSecrets(client: Redis | Cluster, options: RedisOptions): void {
  const secrets = secretsOf(options);
  if (client instanceof Cluster) {
    Object.assign(client.options.redisOptions ?? {}, secrets);
    for (const node of client.nodes()) Object.assign(node.options, secrets);
  } else Object.assign(client.options, secrets, sentinelSecretsOf(options));
}

function secretsOf({ credentials: { user, password }, tls }: RedisOptions) {
  return { username: user ?? undefined, password: password ?? undefined, ...(tls !== null && { tls }) };
}

function sentinelSecretsOf({ servers, tls }: RedisOptions) {
  if (servers.kind !== 'sentinel') return {};
  const { user, password } = servers.credentials;
  return {
    sentinelUsername: user,
    sentinelPassword: password,
    ...(tls !== null && { sentinelTLS: tls }),
  };
}

function placeOf(options: RedisOptions) {
  const { servers, tls } = options;
  if (servers.kind === 'standalone') return { ...servers.address, db: servers.database };
  if (servers.kind === 'cluster') return {};
  return {
    sentinels: [...servers.sentinels],
    name: servers.master,
    role: 'master' as const,
    db: servers.database,
    ...sentinelSecretsOf(options),
    enableTLSForSentinelMode: tls !== null,
    sentinelRetryStrategy: () => RETRY_MS,
  };
}

function common(options: RedisOptions) {
  return {
    ...secretsOf(options),
    connectionName: 'weir',
    // Needs no permission for CLIENT SETINFO.
    disableClientInfo: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // `RedisConnection` resubscribes, and handles a refusal: ioredis leaves that rejection unhandled, which ends the process.
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    // The probes find out whether the server is usable, and need no permission for INFO.
    enableReadyCheck: false,
    connectTimeout: CONNECT_MS,
    retryStrategy: () => RETRY_MS,
    reconnectOnError: (error: Error) => hasCode(error, WRONG_SERVER),
  };
}

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
