import { AdminListener } from './admin/index.ts';
import type { HostPort, Snapshot, UpstreamModel } from './config/index.ts';
import { type Clock, randomKey, requestIdSource, systemRandom } from './core/index.ts';
import { Gateway, Identity, Limiting } from './gateway/index.ts';
import {
  AccessLog,
  FaultLog,
  IdentityListeners,
  IdentityLog,
  IdentityMetrics,
  LimitListeners,
  LimitLog,
  LimitMetrics,
  Listeners,
  type Logger,
  Metrics,
  Pseudonyms,
  StoreListeners,
  StoreLog,
  StoreMetrics,
} from './observe/index.ts';
import { HttpListener } from './server/index.ts';
import { ConnectionPool, type Transport } from './upstream/index.ts';

/** What a gateway needs beside its configuration. */
export interface AppOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** A running gateway. */
export interface App {
  /** What was bound, which tells the port where the configuration says 0. */
  readonly addresses: { readonly http: HostPort; readonly admin: HostPort | null };
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
  readonly #snapshot: Snapshot;
  readonly #metrics = new Metrics();
  readonly #transports: ReadonlyMap<string, Transport>;
  readonly #identity: Identity | null;
  readonly #limiting: Limiting;
  readonly #http: HttpListener;
  readonly #admin: AdminListener;
  #started = false;
  #draining = false;
  #drained: Promise<boolean> | null = null;

  constructor(snapshot: Snapshot, { clock, log }: AppOptions) {
    this.#snapshot = snapshot;
    this.#transports = new Map(
      snapshot.upstreams.map(({ name, options }) => [name, new ConnectionPool(options, clock, systemRandom)]),
    );
    const pseudonyms = new Pseudonyms(snapshot.log.pseudonymKey ?? randomKey());
    const listeners = [
      this.#metrics,
      new FaultLog(log),
      ...(snapshot.log.access ? [new AccessLog(log, pseudonyms)] : []),
    ];
    this.#identity =
      snapshot.identity === null
        ? null
        : new Identity(snapshot.identity, {
            clock,
            random: systemRandom,
            listener: new IdentityListeners([
              new IdentityMetrics(this.#metrics.registry),
              new IdentityLog(log),
            ]),
          });
    const limitMetrics = new LimitMetrics(this.#metrics.registry);
    // Without a shared store there is nothing to tell of one.
    const storeMetrics = snapshot.store.kind === 'memory' ? null : new StoreMetrics(this.#metrics.registry);
    this.#limiting = new Limiting(snapshot.limits, snapshot.store, {
      clock,
      random: systemRandom,
      listener: new LimitListeners([limitMetrics, new LimitLog(log, pseudonyms)]),
      storeListener: new StoreListeners(storeMetrics === null ? [] : [storeMetrics, new StoreLog(log)]),
    });
    if (this.#identity !== null) this.#limiting.shareMarks(this.#identity.marks);
    limitMetrics.observe(() => this.#limiting.counts);
    storeMetrics?.observe(() => this.#limiting.sharing);
    const gateway = new Gateway({
      snapshot,
      clock,
      listener: new Listeners(listeners),
      nextRequestId: requestIdSource(),
      identity: this.#identity,
      limiting: this.#limiting,
      transportOf: upstream => this.#transportOf(upstream),
    });
    this.#http = new HttpListener({
      gateway,
      clock,
      timeouts: snapshot.timeouts,
      caps: snapshot.caps,
      trustedProxies: snapshot.trustedProxies,
    });
    this.#admin = new AdminListener({ metrics: () => this.#scrape(), notReady: () => this.#notReady() });
    this.#metrics.observe({
      clientConnections: () => this.#http.connections,
      upstreamConnections: () =>
        [...this.#transports].map(([name, transport]) => [name, transport.connections] as const),
    });
  }

  async start(): Promise<void> {
    const { listen } = this.#snapshot;
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
    this.#identity?.start();
    this.#started = true;
  }

  drain(): Promise<boolean> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<boolean> {
    const { delayMs, drainMs } = this.#snapshot.shutdown;
    this.#draining = true;
    if (delayMs > 0) await pause(delayMs);
    const inTime = await Promise.race([
      this.#http.drain().then(() => true),
      pause(drainMs).then(() => false),
    ]);
    if (!inTime) this.#http.destroy();
    await Promise.race([
      Promise.all([...this.#transports.values()].map(transport => transport.close())),
      pause(1_000),
    ]);
    this.#limiting.stop();
    this.#identity?.stop();
    this.#admin.close();
    return inTime;
  }

  #notReady(): string | null {
    if (this.#draining) return 'draining';
    if (!this.#started) return 'starting';
    if (this.#limiting.shared?.isReady === false) return 'waiting for Redis';
    return this.#identity?.ready === false ? "waiting for the issuer's keys" : null;
  }

  #transportOf(upstream: UpstreamModel): Transport {
    const transport = this.#transports.get(upstream.name);
    if (transport === undefined) throw new Error(`no transport to the upstream "${upstream.name}"`);
    return transport;
  }

  async #scrape(): Promise<{ contentType: string; text: string }> {
    const { registry } = this.#metrics;
    return { contentType: registry.contentType, text: await registry.metrics() };
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms).unref();
  });
}
