import { AdminListener, gatherStatus } from './admin/index.ts';
import {
  ConfigWatcher,
  type ConfigWatcherOptions,
  type Diagnostic,
  type FixedParts,
  formatDiagnostic,
  type HostPort,
  type LoadedConfig,
  ReloadRecord,
  restartKeys,
  type Snapshot,
} from './config/index.ts';
import { type AppliedEvent, type Clock, randomKey, requestIdSource, systemRandom } from './core/index.ts';
import { Gateway, UnlistedProxies } from './gateway/index.ts';
import {
  FaultLog,
  IdentityListeners,
  IdentityLog,
  IdentityMetrics,
  LimitListeners,
  LimitLog,
  LimitMetrics,
  Listeners,
  type Logger,
  Logging,
  Metrics,
  ProxyLog,
  ReloadListeners,
  ReloadLog,
  ReloadMetrics,
  StoreListeners,
  StoreLog,
  StoreMetrics,
} from './observe/index.ts';
import { type Generation, Generations, isReady, Limiting } from './runtime/index.ts';
import { HttpListener } from './server/index.ts';
import { ConnectionPool, Transports } from './upstream/index.ts';

/** What a gateway needs beside its configuration. */
export interface AppOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Where the configuration came from: changes of its files are followed. Left out: it stays as it is. */
  readonly source?: Pick<ConfigWatcherOptions, 'path' | 'env' | 'loaded' | 'settleMs' | 'pollMs'>;
}

/** A running gateway. */
export interface App {
  /** What was bound, which tells the port where the configuration says 0. */
  readonly addresses: { readonly http: HostPort; readonly admin: HostPort | null };
  /** Reads the files of the configuration at once. Resolves when it is decided what becomes of them; never rejects. */
  reload(): Promise<void>;
  /**
   * Fails readiness at once, after `shutdown.delay` accepts nothing new, and lets requests in flight finish.
   * Resolves to false when `shutdown.drain` ran out first and the rest was broken off. A second call joins the first.
   */
  drain(): Promise<boolean>;
}

/** Assembles a gateway and starts its listeners. Rejects when an address cannot be bound; nothing is left open then. */
export async function startApp(snapshot: Snapshot, options: AppOptions): Promise<App> {
  const app = new RunningApp(snapshot, options);
  await app.start();
  return app;
}

class RunningApp implements App {
  addresses: { http: HostPort; admin: HostPort | null } = { http: { host: '', port: 0 }, admin: null };
  /** What the process was started with, as far as it cannot change. The rest of that configuration may go. */
  readonly #fixed: FixedParts;
  readonly #metrics = new Metrics();
  readonly #logging: Logging;
  readonly #transports: Transports;
  readonly #generations: Generations;
  readonly #limiting: Limiting;
  readonly #gateway: Gateway;
  readonly #http: HttpListener;
  readonly #admin: AdminListener;
  readonly #reloads: ReloadListeners;
  readonly #watcher: ConfigWatcher | null;
  #started = false;
  #draining = false;
  #drained: Promise<boolean> | null = null;

  constructor(snapshot: Snapshot, { clock, log, source }: AppOptions) {
    const { listen, caps, store } = snapshot;
    this.#fixed = { listen, caps, store };
    const { registry } = this.#metrics;
    // 1. What outlives every configuration.
    this.#logging = new Logging(log, snapshot.log, randomKey(), clock);
    const { accessLog, pseudonyms } = this.#logging;
    this.#transports = new Transports(options => new ConnectionPool(options, clock, systemRandom));
    const limitMetrics = new LimitMetrics(registry);
    // Without a shared store there is nothing to tell of one.
    const storeMetrics = snapshot.store.kind === 'memory' ? null : new StoreMetrics(registry);
    this.#limiting = new Limiting(snapshot.limits, snapshot.store, {
      clock,
      limitKeys: snapshot.caps.limitKeys,
      listener: new LimitListeners([limitMetrics, new LimitLog(log, pseudonyms)]),
      storeListener: new StoreListeners(storeMetrics === null ? [] : [storeMetrics, new StoreLog(log)]),
    });
    limitMetrics.observe(() => this.#limiting.counts);
    storeMetrics?.observe(() => this.#limiting.sharing);
    // 2. What changes with it.
    const record = new ReloadRecord(clock);
    this.#reloads = new ReloadListeners([record, new ReloadMetrics(registry, clock), new ReloadLog(log)]);
    this.#generations = new Generations(snapshot, {
      identity: {
        clock,
        random: systemRandom,
        listener: new IdentityListeners([new IdentityMetrics(registry), new IdentityLog(log, clock)]),
      },
      transports: this.#transports,
      serve: generation => this.#serve(generation),
      wait: generation => this.#reloads.waiting(generation.snapshot),
    });
    this.#shareMarks(this.#generations.current);
    const unlistedProxies = new UnlistedProxies(clock, new ProxyLog(log));
    this.#gateway = new Gateway({
      generation: this.#generations.current,
      clock,
      listener: new Listeners([this.#metrics, new FaultLog(log), accessLog]),
      nextRequestId: requestIdSource(),
      limiting: this.#limiting,
      unlistedProxies,
    });
    this.#watcher =
      source === undefined
        ? null
        : new ConfigWatcher({
            ...source,
            clock,
            sink: {
              take: loaded => this.#take(loaded),
              refuse: problems => this.#reloads.refused(mistakesOf(problems)),
              unchanged: () => this.#reloads.unchanged(),
              unwatched: cause => this.#reloads.unwatched(cause),
            },
          });
    // 3. The listeners, and those who look.
    this.#http = new HttpListener({ ...snapshot, gateway: this.#gateway, clock });
    const notReady = () => this.#notReady();
    const clientConnections = () => this.#http.connections;
    const upstreamConnections = () => this.#transports.connections;
    const status = {
      startedAtMs: clock.epochMs(),
      record,
      gateway: this.#gateway,
      limiting: this.#limiting,
      unlistedProxies,
      generation: () => this.#generations.current,
      restartKeys: (latest: Snapshot) => restartKeys(this.#fixed, latest),
      reload: () => (this.#watcher === null ? 'off' : this.#watcher.watches ? 'watch' : 'poll'),
      notReady,
      clientConnections,
      upstreamConnections,
    } as const;
    this.#admin = new AdminListener({
      metrics: () => this.#scrape(),
      notReady,
      status: () => gatherStatus(status),
    });
    this.#metrics.observe({ clientConnections, upstreamConnections });
  }

  async start(): Promise<void> {
    const { listen } = this.#fixed;
    this.#reloads.started(this.#eventOf(this.#generations.current.snapshot));
    try {
      const admin = listen.admin === null ? null : await this.#admin.listen(listen.admin);
      const http = await this.#http.listen(listen.http);
      this.addresses = { http, admin };
    } catch (error) {
      this.#admin.close();
      this.#http.destroy();
      throw error;
    }
    this.#limiting.start();
    this.#generations.start();
    await this.#watcher?.start();
    this.#started = true;
  }

  reload(): Promise<void> {
    return this.#watcher?.reload() ?? Promise.resolve();
  }

  drain(): Promise<boolean> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  #take(loaded: LoadedConfig): void {
    this.#reloads.warned(loaded.warnings.map(formatDiagnostic));
    this.#generations.take(loaded.snapshot);
  }

  /** Another generation has taken the place of the last: from here on all that follows the configuration does so. */
  #serve(generation: Generation): void {
    const { snapshot } = generation;
    this.#gateway.use(generation);
    this.#limiting.use(snapshot.limits);
    this.#shareMarks(generation);
    this.#http.use(snapshot);
    this.#logging.use(snapshot.log);
    this.#reloads.applied(this.#eventOf(snapshot));
  }

  #shareMarks({ identity }: Generation): void {
    if (identity !== null) this.#limiting.shareMarks(identity.marks);
  }

  #eventOf(snapshot: Snapshot): AppliedEvent {
    const { generation, hash } = snapshot;
    return { generation, hash, needsRestart: restartKeys(this.#fixed, snapshot).map(({ key }) => key) };
  }

  async #drain(): Promise<boolean> {
    const { delayMs, drainMs } = this.#generations.current.snapshot.shutdown;
    this.#draining = true;
    void this.#watcher?.stop();
    if (delayMs > 0) await pause(delayMs);
    const inTime = await Promise.race([
      this.#http.drain().then(() => true),
      pause(drainMs).then(() => false),
    ]);
    if (!inTime) this.#http.destroy();
    await Promise.race([this.#transports.close(), pause(1_000)]);
    this.#limiting.stop();
    this.#generations.stop();
    this.#admin.close();
    return inTime;
  }

  #notReady(): string | null {
    if (this.#draining) return 'draining';
    if (!this.#started) return 'starting';
    if (this.#limiting.shared?.isReady === false) return 'waiting for Redis';
    return isReady(this.#generations.current) ? null : "waiting for the issuer's keys";
  }

  async #scrape(): Promise<{ contentType: string; text: string }> {
    const { registry } = this.#metrics;
    return { contentType: registry.contentType, text: await registry.metrics() };
  }
}

function mistakesOf(problems: readonly Diagnostic[]): string[] {
  return problems.map(formatDiagnostic);
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms).unref();
  });
}
