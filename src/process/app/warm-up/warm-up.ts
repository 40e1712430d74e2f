import { type ListenerModel, loadConfig, type Snapshot } from '../../../config/index.ts';
import {
  type Clock,
  formatDuration,
  type System,
  type TimerClock,
  threadProcessorMs,
} from '../../../core/index.ts';
import type { BoundAddresses } from '../../../edge/server/index.ts';
import { type Logger, makeLogger } from '../../../observe/index.ts';
import { PlayedClient, type PlayedKind } from './played-clients.ts';
import { playedFiles } from './played-files.ts';
import { AUDIENCE, playedIssuer } from './played-issuer.ts';
import { PlayedService } from './played-service.ts';

/** How many clients of each kind send requests at the same time. */
const CLIENTS = { http1: 8, http2: 2, grpc: 2 } as const;

/**
 * When clients disconnect and their gateway ends, as fractions of the budget. The first time is early: it makes V8 discard code
 * that was compiled as if some fields were constants, and the rest of the budget is for compiling it again.
 */
const ROUNDS = [0.25, 1] as const;

/** How many requests of each kind were answered. */
export type Played = Readonly<Partial<Record<PlayedKind, number>>>;

/** A gateway that serves only the clients of the warm-up. */
export interface WarmedGateway {
  readonly addresses: BoundAddresses;
  drain(): Promise<boolean>;
}

/**
 * Runs requests through the code that is about to serve, until `warm_up` is over: V8 compiles what has run often enough, and until
 * then a request costs two to four times as much. They go through another gateway of this thread, with counters, metrics and
 * connections of its own, from its own clients to its own service, on loopback.
 *
 * @param real the configuration that will be in use: what it does not serve is not played
 */
export async function playWarmUp(
  real: Snapshot & { readonly warmUpMs: number },
  system: System,
  start: (played: Snapshot, log: Logger) => Promise<WarmedGateway>,
): Promise<Played> {
  const budget = new Budget(real.warmUpMs, system.clock);
  const { clock, network } = system;
  const issuer = real.identity === null ? null : playedIssuer();
  const service = new PlayedService(network, issuer?.keySet ?? '{}');
  try {
    const snapshot = await playedSnapshot(real, await service.listen(), clock);
    const fields = issuer === null ? [] : ['Authorization', `Bearer ${issuer.token(service.url, clock)}`];
    const played: Partial<Record<PlayedKind, number>> = {};
    for (const part of ROUNDS) {
      const gateway = await start(snapshot, makeLogger(snapshot.log.level, { write: () => {} }));
      const to = { network, address: gateway.addresses.http, isTls: snapshot.listen.http.tls !== null };
      const clients = kindsOf(real).flatMap(kind =>
        Array.from({ length: CLIENTS[kind] }, () => new PlayedClient(kind, { ...to, fields })),
      );
      // Wait for a response of each kind: with little processor time, the budget may be over before the first one.
      const begun = Promise.all(clients.map(client => client.begun));
      await Promise.all([budget.spent(part), Promise.race([begun, budget.patience])]);
      for (const client of clients) client.stop();
      await Promise.all([...clients.map(({ ended }) => ended), gateway.drain()]);
      for (const { kind, answered } of clients) played[kind] = (played[kind] ?? 0) + answered;
      const unserved = kindsOf(real).find(kind => played[kind] === 0);
      if (unserved !== undefined)
        throw new Error(
          `no played client of ${unserved} was served within ${formatDuration(budget.patienceMs)}`,
        );
    }
    return played;
  } finally {
    budget.close();
    service.close();
  }
}

/** How often the spent budget is checked, in milliseconds. */
const LOOK_MS = 10;
/** On a busy machine, a warm-up may take this many times its budget in real time. */
const MAX_WAIT = 10;
/**
 * Minimum time for each client to get one response, in milliseconds. It matters only if the machine has hardly any time for this
 * thread.
 */
const LEAST_PATIENCE_MS = 20_000;

/** The processor time that a warm-up may take in this thread. Processor time, so that it does as much on a busy machine. */
class Budget {
  readonly close: () => void;
  readonly patienceMs: number;
  /** Resolves when the wait for first responses is over. */
  readonly patience: Promise<void>;
  readonly #parts: { readonly part: number; readonly resolve: () => void }[] = [];

  constructor(ms: number, clock: TimerClock) {
    const fromMs = threadProcessorMs();
    const endMs = clock.monotonicMs() + MAX_WAIT * ms;
    const timer = clock.every(LOOK_MS, () => {
      const isOver = clock.monotonicMs() >= endMs;
      const spent = (threadProcessorMs() - fromMs) / ms;
      for (const { part, resolve } of this.#parts) if (isOver || spent >= part) resolve();
    });
    this.patienceMs = Math.max(MAX_WAIT * ms, LEAST_PATIENCE_MS);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.patience = promise;
    const last = clock.after(this.patienceMs, resolve);
    this.close = () => {
      clock.cancel(timer);
      clock.cancel(last);
    };
  }

  /** Resolves when this fraction of the budget is used up. */
  spent(part: number): Promise<void> {
    return new Promise(resolve => this.#parts.push({ part, resolve }));
  }
}

function kindsOf({ listen: { http, grpc }, upstreams }: Snapshot): PlayedKind[] {
  const speaksHttp2 = http.h2c || http.tls?.protocols.includes('h2') === true;
  const servesCalls = upstreams.some(({ protocol }) => protocol === 'grpc') && (speaksHttp2 || grpc !== null);
  return ['http1', ...(speaksHttp2 ? (['http2'] as const) : []), ...(servesCalls ? (['grpc'] as const) : [])];
}

/**
 * A snapshot that makes a request do what the real configuration does, but with another service, and without provider and Redis.
 */
async function playedSnapshot(real: Snapshot, service: string, clock: Clock): Promise<Snapshot> {
  const quota = '65535/1s';
  const gateway = {
    listen: { http: { address: '127.0.0.1:0', h2c: true }, admin: 'off' },
    upstreams: { plain: { url: service }, calls: { url: service, protocol: 'grpc' } },
    routes: [
      { path: '/played/**', upstream: 'plain', ...authentication(real) },
      { grpc: 'played.Things/*', upstream: 'calls', ...authentication(real) },
    ],
    ...(real.identity === null ? {} : identity(service)),
    limits: 'limits.yaml',
    caps: { event_loop_delay: 'off', limit_keys: 1_000, connections: 100, connections_per_address: 100 },
    shutdown: { drain: '0s' },
    log: { access: real.log.access },
  };
  const classes = Object.fromEntries(['user', 'bot', 'address'].map(kind => [kind, quota]));
  const limits = {
    global: classes,
    invalid_requests: 'off',
    buckets: { played: classes },
    routes: { '/played/**': 'played', 'GRPC played.Things/*': 'played' },
  };
  // JSON is YAML.
  const texts = { 'gateway.yaml': JSON.stringify(gateway), 'limits.yaml': JSON.stringify(limits) };
  const loaded = await loadConfig('gateway.yaml', {
    env: {},
    clock,
    generation: 1,
    files: playedFiles(texts),
  });
  if (!loaded.ok) throw new Error(loaded.diagnostics.map(({ message }) => message).join('; '));
  const { snapshot } = loaded;
  const { http } = snapshot.listen;
  return { ...snapshot, listen: { ...snapshot.listen, http: { ...http, ...likeReal(real.listen.http) } } };
}

/** Serves the certificates of the real listener, if it has any, to clients without one. */
function likeReal({ tls }: ListenerModel): Partial<ListenerModel> {
  return tls === null ? {} : { tls: { ...tls, clientCertificates: null } };
}

function authentication({ identity }: Snapshot) {
  return identity === null ? { authentication: 'none' } : {};
}

function identity(service: string) {
  return {
    identity_provider: {
      issuer: service,
      client_id: 'played',
      client_authentication: 'none',
      redirect_uri: service,
      endpoints: { authorization: service, token: service, key_set: `${service}/keys` },
    },
    access_tokens: { audience: AUDIENCE },
  };
}
