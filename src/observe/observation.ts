import type * as core from '../core/index.ts';
import { atOnce } from '../core/index.ts';
import type { Logger, LoggingOptions, LogLosses } from './log/index.ts';
import {
  adminLog,
  connectionLog,
  FaultLog,
  identityLog,
  Logging,
  limitLog,
  listenerFaults,
  NO_LOSSES,
  noticeLog,
  overloadLog,
  reloadLog,
  storeLog,
  upstreamLog,
} from './log/index.ts';
import * as metric from './metrics/index.ts';
import { Recent, type RecentGrowth } from './recent.ts';
import type { SpanExport } from './span-export.ts';

interface ObservationOptions {
  readonly clock: core.TimerClock;
  readonly log: Logger;
  /** Identifies this process in the access log. No other process has this name, nor will this one after a restart. */
  readonly instance: string;
  readonly logging: LoggingOptions;
  /** The key of the pseudonyms while the configuration has none. */
  readonly pseudonymKey: Buffer;
  readonly labels: metric.LabelModel;
  /** Whether gateways share a store; without one there are no metrics and no log lines about it. */
  readonly sharesStore: boolean;
  /** Is notified of reloads before metrics and the log. */
  readonly reloadRecord: Partial<core.ReloadListener>;
  /** The destination of spans; `null` if there is none. */
  readonly spans: (Partial<core.ExchangeListener> & Pick<SpanExport, 'lost'>) | null;
  /** True if the main thread of this process reports what concerns all of it. Default false: this thread does. */
  readonly isWorker?: boolean | undefined;
}

/** What one thread of a process has counted and recorded since the last `take`. */
export interface ObservationGrowth {
  readonly metrics: metric.MetricGrowth;
  readonly recent: RecentGrowth;
}

/** Everything that observes a gateway: metrics and the log, combined into one listener for each part that reports. */
export class Observation {
  readonly exchanges: core.ExchangeListener;
  readonly connections: core.ConnectionListener;
  readonly upstreams: core.UpstreamListener;
  readonly limits: core.LimitListener;
  readonly store: core.StoreListener;
  readonly overload: core.OverloadListener;
  readonly reloads: core.ReloadListener;
  readonly proxies: core.ProxyListener;
  readonly notices: core.NoticeListener;
  readonly admin: core.AdminApiListener;
  /** What happened within the last hour. */
  readonly recent: Recent;
  readonly #metrics = new metric.MetricSet();
  readonly #exchangeMetrics: metric.ExchangeMetrics;
  readonly #identityMetrics: ReturnType<typeof metric.identityMetrics>;
  readonly #identities = new Map<string | null, core.AuthListener & core.SignInListener>();
  readonly #log: Logger;
  readonly #clock: core.Clock;
  readonly #logging: Logging;
  readonly #onFault: OnFault;
  /** Names of events that the main thread reports instead of this one. */
  readonly #unheard: ReadonlySet<string>;
  #labels: metric.LabelModel;

  constructor({
    clock,
    instance,
    log,
    logging,
    pseudonymKey,
    labels,
    sharesStore,
    reloadRecord,
    spans,
    isWorker = false,
  }: ObservationOptions) {
    const metrics = this.#metrics;
    this.#log = log;
    this.#clock = clock;
    this.#onFault = listenerFaults(log, clock);
    this.#unheard = isWorker ? FROM_MAIN_THREAD : new Set();
    const join = <L extends object>(methods: ListenerMethods<L>, listeners: readonly Partial<NoInfer<L>>[]) =>
      fanOut(methods, listeners, this.#onFault, this.#unheard);
    this.#logging = new Logging(log, logging, clock, instance, pseudonymKey);
    this.#exchangeMetrics = new metric.ExchangeMetrics(metrics);
    this.#identityMetrics = metric.identityMetrics(metrics);
    const limitMetrics = metric.limitMetrics(metrics);
    const storeMetrics = sharesStore ? metric.storeMetrics(metrics) : null;
    const upstreamMetrics = metric.upstreamMetrics(metrics);
    this.#labels = labels;
    this.recent = new Recent(clock, limitMetrics, () => this.#labels.upstreams);
    const { callers, errors } = this.recent;
    const { pseudonyms } = this.#logging;
    this.exchanges = join(EXCHANGE, [
      ...[this.#exchangeMetrics, new FaultLog(log, clock), this.#logging, callers, errors],
      ...(spans === null ? [] : [spans]),
    ]);
    this.connections = join(CONNECTIONS, [
      metric.connectionMetrics(metrics),
      connectionLog(log, clock),
      errors,
    ]);
    this.upstreams = join(UPSTREAMS, [upstreamMetrics, upstreamLog(log)]);
    this.limits = join(LIMITS, [limitMetrics, limitLog(log, pseudonyms, clock), callers, errors]);
    this.store = join(STORE, storeMetrics === null ? [] : [storeMetrics, storeLog(log), errors]);
    this.overload = join(OVERLOAD, [metric.overloadMetrics(metrics), overloadLog(log)]);
    const reloadMetrics = metric.reloadMetrics(metrics, clock);
    this.reloads = join(RELOADS, isWorker ? [] : [reloadRecord, reloadMetrics, reloadLog(log)]);
    this.proxies = join(PROXIES, [proxyLog(log)]);
    this.notices = join(NOTICES, [metric.noticeMetrics(metrics), noticeLog(log, clock), errors]);
    this.admin = join(ADMIN, [metric.adminMetrics(metrics), adminLog(log, clock)]);
    metric.observeLog(metrics, () => this.logLosses);
    metrics.read('weir_spans_lost_total', () => spans?.lost ?? []);
    this.#exchangeMetrics.use(labels);
    this.#identityMetrics.use(labels);
    atOnce(this.showSeries());
  }

  get logLosses(): LogLosses {
    return this.#log.destination.losses ?? NO_LOSSES;
  }

  /** Applies the configuration. Call `showSeries` as well. */
  use(logging: LoggingOptions, labels: metric.LabelModel): void {
    this.#logging.use(logging);
    this.#labels = labels;
    this.#exchangeMetrics.use(labels);
    this.#identityMetrics.use(labels);
  }

  /** Shows the series of the configuration in use, and drops those that it no longer has. */
  showSeries(): core.Steps<void> {
    return this.#metrics.use(this.#labels);
  }

  /**
   * The listener for one provider, by its name, or for tokens of unknown providers (`none`). Null for the only provider, which
   * metrics and logs do not name. Stays the same as long as the gateway runs: its log reports changes of state.
   */
  identityOf(provider: string | null): core.AuthListener & core.SignInListener {
    const known = this.#identities.get(provider);
    if (known !== undefined) return known;
    const log = identityLog(this.#log, this.#clock, provider);
    const made = fanOut(
      IDENTITY,
      [this.#identityMetrics.of(provider), log, this.recent.errors],
      this.#onFault,
      this.#unheard,
    );
    this.#identities.set(provider, made);
    return made;
  }

  pseudonymOf(principal: string): string {
    return this.#logging.pseudonyms.of(principal);
  }

  /** Registers a metric that is read at each scrape. */
  readonly read: metric.MetricSet['read'] = (name, read) => this.#metrics.read(name, read);

  /** Takes what this thread has counted and recorded since the last call. */
  take(): ObservationGrowth {
    return { metrics: this.#metrics.takeGrowth(), recent: this.recent.take() };
  }

  /** Adds what another thread has counted and recorded, as if it had happened here. */
  add({ metrics, recent }: ObservationGrowth): void {
    this.#metrics.addGrowth(metrics);
    this.recent.add(recent);
  }

  /** The values that each thread has, for `scrape`. */
  levels(): Promise<metric.Levels> {
    return this.#metrics.levels();
  }

  /**
   * Metrics in Prometheus' text format, merged with the values of other threads.
   *
   * @param names of the metrics. Default: all
   */
  async scrape(
    others: readonly metric.Levels[] = [],
    names: readonly string[] = [],
  ): Promise<{ contentType: string; text: string }> {
    return { contentType: this.#metrics.registry.contentType, text: await this.#metrics.text(others, names) };
  }
}

const EXCHANGE: ListenerMethods<core.ExchangeListener> = {
  switched: true,
  lasting: true,
  finished: true,
  untrustedForwarding: true,
  challengeRemoved: true,
};

const CONNECTIONS: ListenerMethods<core.ConnectionListener> = {
  proxyHeaderRefused: true,
  handshakeEnded: true,
  http2Closed: true,
  readTooSlowly: true,
  buffersFull: true,
};

const UPSTREAMS: ListenerMethods<core.UpstreamListener> = {
  endpointChanged: true,
  addressesChanged: true,
  retried: true,
  lookupFailed: true,
  lookupWorks: true,
};

const IDENTITY: ListenerMethods<core.AuthListener & core.SignInListener> = {
  tokenKnown: true,
  signatureChecked: true,
  tokenRefused: true,
  tokenUndecided: true,
  proofAccepted: true,
  budgetSpent: true,
  keySetLoaded: true,
  keySetFailed: true,
  revocationEvicted: true,
  redeemed: true,
  tokenHandedOut: true,
  signedOut: true,
  introspected: true,
  discovered: true,
};

const LIMITS: ListenerMethods<core.LimitListener> = {
  decided: true,
  defaultRefused: true,
  stoodIn: true,
  refusedByRestriction: true,
  shadowRefused: true,
  priced: true,
  held: true,
  invalid: true,
  restricted: true,
  prolonged: true,
  released: true,
  evicted: true,
};

const STORE: ListenerMethods<core.StoreListener> = {
  decidedBy: true,
  failed: true,
  lost: true,
  found: true,
  behind: true,
  caughtUp: true,
  shareFailed: true,
  subscribed: true,
  rightsMissing: true,
  taskFailed: true,
  beat: true,
};

const ADMIN: ListenerMethods<core.AdminApiListener> = { refused: true, changed: true, failed: true };

const PROXIES: ListenerMethods<core.ProxyListener> = { unlistedProxy: true };

const NOTICES: ListenerMethods<core.NoticeListener> = { noticeReceived: true };

const OVERLOAD: ListenerMethods<core.OverloadListener> = { began: true, ended: true };

const RELOADS: ListenerMethods<core.ReloadListener> = {
  started: true,
  warned: true,
  applied: true,
  waiting: true,
  refused: true,
  unchanged: true,
  unwatched: true,
};

/**
 * Events that every thread of a process is notified of, but only its main thread reports: keys that it fetches for all, and names
 * that it looks up.
 */
const FROM_MAIN_THREAD: ReadonlySet<string> = new Set<
  keyof core.AuthListener | keyof core.SignInListener | keyof core.UpstreamListener
>([
  ...(['keySetLoaded', 'keySetFailed', 'discovered'] as const),
  ...(['addressesChanged', 'lookupFailed', 'lookupWorks'] as const),
]);

/** Every method of a listener by name, so that a missing one is a compile error. */
export type ListenerMethods<L> = Readonly<Record<keyof L, true>>;

/** The type of all methods of listeners: none has more arguments. */
type Hook = (first: unknown, second: unknown, third: unknown) => void;

/** Called when a listener throws. `method`: the method of the listener. Must not throw. */
type OnFault = (method: string, fault: unknown) => void;

/**
 * Combines several listeners: each call goes to those that have the method, in the order given. The lists are made once, so that
 * a call costs nothing for listeners without the method. A listener that throws affects neither the other listeners nor the
 * caller: no event may end a request or the process.
 *
 * @param unheard methods whose calls are dropped. Default none.
 */
export function fanOut<L extends object>(
  methods: ListenerMethods<L>,
  listeners: readonly Partial<NoInfer<L>>[],
  onFault: OnFault,
  unheard: ReadonlySet<string> = new Set(),
): L {
  const names = Object.keys(methods) as (keyof L & string)[];
  const hooks = names.map(name => {
    const hear = unheard.has(name) ? [] : listeners.flatMap(each => hookOf(each, name));
    return [name, callAll(hear, fault => onFault(name, fault))] as const;
  });
  return Object.fromEntries(hooks) as unknown as L;
}

function hookOf<L extends object>(listener: Partial<L>, name: keyof L): readonly Hook[] {
  const method = listener[name];
  return typeof method === 'function' ? [method.bind(listener) as Hook] : [];
}

/** Written out: as a loop, the three calls of a request took 35 to 50 ns in a micro-benchmark, 20 as hand-written classes. */
function callAll(
  [one = ignore, two = ignore, three, ...more]: readonly Hook[],
  failed: (fault: unknown) => void,
): Hook {
  const rest = three === undefined ? ignore : callAll([three, ...more], failed);
  return (first, second, third) => {
    try {
      one(first, second, third);
    } catch (fault) {
      failed(fault);
    }
    try {
      two(first, second, third);
    } catch (fault) {
      failed(fault);
    }
    rest(first, second, third);
  };
}

function ignore(): void {}

/** Logs senders that look like a proxy missing from `trusted_proxies`. */
function proxyLog(log: Logger): core.ProxyListener {
  return {
    unlistedProxy: ({ address, field, message }) => log.warn({ type: 'proxy', address, field }, message),
  };
}
