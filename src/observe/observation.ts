import type * as core from '../core/index.ts';
import { atOnce, silent } from '../core/index.ts';
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
  warningLog,
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
  /** True in a worker: the main thread then reports events that concern the whole process. Default: false. */
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
  readonly warnings: core.WarningListener;
  readonly notices: core.NoticeListener;
  readonly admin: core.AdminApiListener;
  readonly recent: Recent;
  readonly #metrics = new metric.MetricSet();
  readonly #exchangeMetrics: ReturnType<typeof metric.exchangeMetrics>;
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
    const join = <L extends object>(listeners: readonly Partial<NoInfer<L>>[]) =>
      fanOut<L>(listeners, this.#onFault, this.#unheard);
    this.#logging = new Logging(log, logging, clock, instance, pseudonymKey);
    this.#exchangeMetrics = metric.exchangeMetrics(metrics);
    this.#identityMetrics = metric.identityMetrics(metrics);
    const limitMetrics = metric.limitMetrics(metrics);
    const storeMetrics = sharesStore ? metric.storeMetrics(metrics) : null;
    const upstreamMetrics = metric.upstreamMetrics(metrics);
    this.#labels = labels;
    this.recent = new Recent(clock, limitMetrics, () => this.#labels.upstreams);
    const { callers } = this.recent;
    const errors = this.recent.errors.heard;
    const { pseudonyms } = this.#logging;
    this.exchanges = join([
      ...[this.#exchangeMetrics, new FaultLog(log, clock), this.#logging, callers, errors],
      ...(spans === null ? [] : [spans]),
    ]);
    this.connections = join([metric.connectionMetrics(metrics), connectionLog(log, clock), errors]);
    this.upstreams = join([upstreamMetrics, upstreamLog(log)]);
    this.limits = join([limitMetrics, limitLog(log, pseudonyms, clock), warningLog(log), callers, errors]);
    this.store = join(storeMetrics === null ? [] : [storeMetrics, storeLog(log), errors]);
    this.overload = join([metric.overloadMetrics(metrics), overloadLog(log)]);
    const reloadMetrics = metric.reloadMetrics(metrics, clock);
    this.reloads = join(isWorker ? [] : [reloadRecord, reloadMetrics, reloadLog(log)]);
    this.warnings = join([warningLog(log)]);
    this.notices = join([metric.noticeMetrics(metrics), noticeLog(log, clock), errors]);
    this.admin = join([metric.adminMetrics(metrics), adminLog(log, clock)]);
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
    const listeners = [this.#identityMetrics.of(provider), log, this.recent.errors.heard];
    const made = fanOut<core.AuthListener & core.SignInListener>(listeners, this.#onFault, this.#unheard);
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
   * @param names the names of the metrics. Default: all
   */
  async scrape(
    others: readonly metric.Levels[] = [],
    names: readonly string[] = [],
  ): Promise<{ contentType: string; text: string }> {
    return { contentType: this.#metrics.registry.contentType, text: await this.#metrics.text(others, names) };
  }
}

/**
 * Events that every thread of a process is notified of, but only its main thread reports: keys that it fetches for all, and names
 * that it looks up.
 */
const FROM_MAIN_THREAD: ReadonlySet<string> = new Set<
  keyof core.AuthListener | keyof core.SignInListener | keyof core.UpstreamListener
>(['keySetLoaded', 'keySetFailed', 'discovered', 'addressesChanged', 'lookupFailed', 'lookupWorks']);

/** The type of all methods of listeners: none has more than three arguments. */
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
  listeners: readonly Partial<NoInfer<L>>[],
  onFault: OnFault,
  unheard: ReadonlySet<string> = new Set(),
): L {
  const all = silent<L>();
  for (const name of new Set(listeners.flatMap(methodsOf))) {
    const hear = unheard.has(name) ? [] : listeners.flatMap(each => hookOf(each, name as keyof L));
    if (hear.length > 0) Object.assign(all, { [name]: callAll(hear, fault => onFault(name, fault)) });
  }
  return all;
}

/** The names of an object's members, including those of its class. */
function methodsOf(listener: object): string[] {
  const ofClass = Object.getPrototypeOf(listener);
  return Object.keys(listener).concat(
    ofClass === Object.prototype ? [] : Object.getOwnPropertyNames(ofClass),
  );
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
