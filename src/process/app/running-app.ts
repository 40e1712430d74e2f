import type { ConfigData, Diagnostic, LoadedConfig, Snapshot } from '../../config/index.ts';
import {
  ConfigWatcher,
  changesInSteps,
  compileData,
  fixedValuesOf,
  formatDiagnostic,
  ReloadRecord,
  restartKeys,
} from '../../config/index.ts';
import type {
  AppliedEvent,
  ProcessPart,
  ReloadListener,
  Steps,
  System,
  TimerClock,
} from '../../core/index.ts';
import {
  alone,
  errorText,
  finishedWithin,
  readVersion,
  requestIdSource,
  systemClock,
  Turns,
} from '../../core/index.ts';
import { AdminListener } from '../../edge/admin/index.ts';
import { type BoundAddresses, Buffered, Listeners, TicketKeys } from '../../edge/server/index.ts';
import { Gateway, UnlistedProxies } from '../../gateway/index.ts';
import {
  type Generation,
  Generations,
  isReady,
  type KeptState,
  Limiting,
  loadSharedStore,
  type NewSharedStore,
  Overload,
  openState,
  SharedIssuers,
} from '../../gateway/runtime/index.ts';
import type * as auth from '../../identity/auth/index.ts';
import {
  NOTICE_BUDGET,
  Nonces,
  OwnerChecks,
  ProofKeys,
  REVOCATION_LIMITS,
  Revocations,
  SeenNotices,
  SeenProofs,
  UNUSED_BUDGET,
  VerificationBudget,
} from '../../identity/auth/index.ts';
import { tableSizeFor } from '../../limits/index.ts';
import type { Logger, SpanExport, SpanPeer } from '../../observe/index.ts';
import { Observation, openSpanExport } from '../../observe/index.ts';
import { Transports, transportOpener } from '../../upstream/index.ts';
import { adminView, type ShownParts } from './admin-view.ts';
import type { App, AppOptions, PlaneApp, Service, StartOptions, Workers } from './app.ts';
import { readGauges } from './gauges.ts';
import { type ReportExtent, type WorkerReport, WorkerReports } from './worker-reports.ts';

/** Maximum paths and callers whose names in the log are remembered. */
const MAX_NAMES = 20_000;
/** Maximum proofs of possession remembered to detect a second use: 4,000 a second if a proof is accepted for 60 s. */
const MAX_PROOFS = 250_000;
/** Without workers, a gateway does not fail. */
const NEVER = new Promise<string>(() => {});

/** The parts that take time to open, or are loaded only if used; `null` if not configured. */
interface OpenedParts {
  readonly spans: SpanExport | null;
  readonly newSharedStore: NewSharedStore | null;
}

/** The parts of one gateway, and how they start, follow a reload and drain. */
class RunningApp implements PlaneApp {
  addresses: App['addresses'] = { http: { host: '', port: 0 }, redirect: null, grpc: null, admin: null };
  /** What a reload cannot change. The rest of the first configuration is not kept: it may be large. */
  readonly #fixed: ShownParts['fixed'] & Pick<Snapshot, 'listen'>;
  /** The configuration in use, to report what the next one changes. */
  #outline: Snapshot['outline'];
  readonly #system: System;
  readonly #clock: TimerClock;
  readonly #part: ProcessPart;
  readonly #ticketKeys: TicketKeys;
  /** Counts what is held for the clients of all threads. */
  readonly #buffered: Buffered;
  readonly #log: Logger;
  readonly #reloadRecord: ReloadRecord;
  readonly #observation: Observation;
  /** Sends spans to their receiver; `null` if there is none. */
  readonly #spans: SpanExport | null;
  /** What is kept across a restart; `null` if nothing is. */
  readonly #state: KeptState | null;
  readonly #transports: Transports;
  readonly #revocations: Revocations;
  readonly #nonces: Nonces;
  readonly #generations: Generations;
  readonly #limiting: Limiting;
  readonly #overload: Overload;
  readonly #unlistedProxies: UnlistedProxies;
  readonly #gateway: Gateway;
  readonly #service: Service;
  /** Must compile a reload before this thread applies it; `null` if there are none. */
  readonly #workers: Workers | null;
  /** The workers' reports; empty if there are no workers. */
  readonly #reports: WorkerReports;
  readonly #admin: AdminListener;
  readonly #watcher: ConfigWatcher | null;
  /** Callbacks that pass each new generation to one part; see `#follows`. */
  readonly #followers: ((generation: Generation) => void)[] = [];
  /** Times the turns that the last reload took in this thread. */
  readonly #turns = new Turns();
  /** The rest of the work for a configuration that already serves; `null` if there is none. */
  #following: Promise<void> | null = null;
  #started = false;
  #draining = false;
  #drained: Promise<boolean> | null = null;

  constructor(
    snapshot: Snapshot,
    { system, log, source, workers, part, state }: AppOptions,
    { spans, newSharedStore }: OpenedParts,
  ) {
    const { clock } = system;
    const { listen, workers: fixedWorkers } = snapshot;
    this.#fixed = { listen, workers: fixedWorkers, values: fixedValuesOf(snapshot) };
    this.#spans = spans;
    this.#state = state;
    this.#outline = snapshot.outline;
    this.#system = system;
    this.#clock = clock;
    this.#part = part;
    this.#ticketKeys = new TicketKeys(part.memory, system.randomBytes, clock.monotonicMs());
    this.#log = log;
    this.#reloadRecord = new ReloadRecord(clock);
    this.#observation = this.#makeObservation(snapshot);
    const { files } = system;
    this.#buffered = new Buffered({ memory: part.memory, files, listener: this.#observation.connections });
    this.#transports = new Transports(transportOpener(part, system, this.#observation.upstreams));
    // All threads hold the same revocations, so only the main one counts.
    const evicted = () => {
      if (part.isMain) this.#observation.identityOf(null).revocationEvicted();
    };
    this.#revocations = new Revocations(REVOCATION_LIMITS, clock, evicted);
    this.#nonces = new Nonces(part.memory.secret('nonces', 32), clock);
    this.#workers = workers ?? null;
    this.#reports = workers?.reports ?? new WorkerReports(clock);
    this.#reports.follow(growth => this.#observation.add(growth));
    this.#generations = this.#makeGenerations(snapshot);
    this.#limiting = this.#makeLimiting(snapshot, newSharedStore);
    this.#overload = this.#makeOverload(snapshot);
    this.#unlistedProxies = new UnlistedProxies(clock, this.#observation.warnings);
    this.#gateway = this.#makeGateway();
    this.#service = this.#follows(workers ?? this.#makeListeners(snapshot), (service, next) =>
      service.use(next.snapshot),
    );
    this.#watcher = source === undefined ? null : this.#makeWatcher(source);
    this.#admin = this.#makeAdmin();
  }

  get failed(): Promise<string> {
    return this.#workers?.failed ?? NEVER;
  }

  async start(): Promise<void> {
    const { listen } = this.#fixed;
    this.#observation.reloads.started(this.#eventOf(this.#generations.current.snapshot));
    try {
      const admin = listen.admin === null ? null : await this.#admin.listen(listen.admin.address);
      this.addresses = { ...(await this.#service.listen()), admin };
    } catch (error) {
      this.#admin.close();
      this.#service.destroy();
      await this.#state?.stop();
      throw error;
    }
    // The main thread shows what a worker records, so a worker hands over all of it.
    this.#observation.recent.start();
    this.startParts();
    await this.#watcher?.start();
    this.#started = true;
  }

  /** Restores what was counted before the last stop. */
  async countOn(): Promise<void> {
    await this.#state?.counters?.follow(this.#limiting.local.kept);
  }

  join(addresses: BoundAddresses): Promise<BoundAddresses> {
    return this.#service.listen(addresses);
  }

  compile(data: ConfigData, generation: number): Promise<Snapshot> {
    this.#turns.longestMs = 0;
    return this.#turns.slice(compileData(data, generation, this.#generations.current.snapshot));
  }

  async take(snapshot: Snapshot): Promise<void> {
    const next = withKeysOf(this.#generations.current.snapshot, snapshot);
    this.#turns.time(() => this.#generations.take(next));
    await this.#following;
  }

  async report(wanted: ReportExtent): Promise<WorkerReport> {
    const levels = wanted === 'scrape' ? await this.#observation.levels() : null;
    const { trustedProxies } = this.#generations.current.snapshot;
    return {
      growth: this.#observation.take(),
      connections: this.#service.connections,
      requestsInFlight: this.#gateway.inFlight,
      loopDelayMs: this.#overload.delayMs,
      state:
        wanted === 'counts'
          ? null
          : {
              upstreamConnections: this.#transports.connections,
              endpoints: this.#transports.states,
              unlistedProxies: this.#unlistedProxies.reports(trustedProxies),
              inFlight: [...this.#limiting.local.inFlight.counts],
            },
      levels,
    };
  }

  reload(): Promise<void> {
    return this.#watcher?.reload() ?? Promise.resolve();
  }

  collectLog(): Promise<void> {
    return this.#reports.refresh('counts');
  }

  drain(): Promise<boolean> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Passes each later generation to a part that was made with the first configuration. */
  #follows<Part>(part: Part, use: (part: Part, generation: Generation) => void): Part {
    this.#followers.push(generation => use(part, generation));
    return part;
  }

  /** Does the work that no request waits for, in slices, for one configuration after the other. */
  #followLater(snapshot: Snapshot): void {
    const run = () => this.#turns.slice(this.#followInSteps(snapshot));
    const following = (this.#following?.then(run) ?? run()).finally(() => {
      if (this.#following === following) this.#following = null;
    });
    // A failure reaches the code that awaits `#following`.
    following.catch(() => {});
    this.#following = following;
  }

  *#followInSteps(snapshot: Snapshot): Steps<void> {
    yield* this.#limiting.makeRoom(snapshot.limits);
    yield* this.#observation.showSeries();
    if (!this.#part.isMain) return;
    const { outline } = snapshot;
    const changes = yield* changesInSteps(outline, this.#outline);
    this.#outline = outline;
    this.#observation.reloads.applied({ ...this.#eventOf(snapshot), changes });
  }

  startParts(): void {
    this.#limiting.start();
    this.#overload.start();
    this.#generations.start();
  }

  #makeListeners(first: Snapshot): Service {
    return new Listeners({
      ...first,
      gateway: this.#gateway,
      ...this.#system,
      connectionListener: this.#observation.connections,
      permits: this.#part.permits,
      buffered: this.#buffered,
      ticketKeys: this.#ticketKeys,
    });
  }

  #makeObservation(first: Snapshot): Observation {
    const { id, isMain, memory } = this.#part;
    const observation = new Observation({
      ...this.#system,
      log: this.#log,
      instance: id,
      logging: { ...first.log, remembered: tableSizeFor(MAX_NAMES, first.caps.limitKeys) },
      pseudonymKey: memory.secret('pseudonyms', 32),
      labels: first.labels,
      sharesStore: first.store.kind !== 'memory',
      reloadRecord: this.#reloadRecord,
      spans: this.#spans,
      isWorker: !isMain,
    });
    this.#spans?.use(spanPeers(first));
    return this.#follows(observation, (part, { snapshot }) => {
      part.use(snapshot.log, snapshot.labels);
      this.#spans?.use(spanPeers(snapshot));
    });
  }

  #makeGenerations(first: Snapshot): Generations {
    const { memory, permits } = this.#part;
    const budget = (name: string, options: auth.BudgetOptions) => {
      const maxAddresses = tableSizeFor(options.maxAddresses, first.caps.limitKeys);
      return new VerificationBudget({ ...options, maxAddresses }, this.#clock, memory, name);
    };
    const claim = (name: string, forMs: number) => this.#limiting.claim(name, forMs);
    return new Generations(first, {
      identity: {
        ...this.#system,
        listenerOf: provider => this.#observation.identityOf(provider),
        revocations: this.#revocations,
        budget: budget('failed tokens', UNUSED_BUDGET),
        ownerChecks: new OwnerChecks(this.#clock, memory),
        permits,
        issuers: new SharedIssuers(this.#part),
        proofs: {
          seen: new SeenProofs(tableSizeFor(MAX_PROOFS, first.caps.limitKeys), this.#clock, memory),
          keys: new ProofKeys(),
          nonces: this.#nonces,
          claimElsewhere: first.store.kind === 'memory' ? null : (...proof) => this.#claimProof(...proof),
        },
        notices: {
          clock: this.#clock,
          listener: this.#observation.notices,
          budget: budget('failed notices', NOTICE_BUDGET),
          soon: run => memory.soon(run),
          allKnow: () => this.#part.allKnow(),
          seen: new SeenNotices({ clock: this.#clock, claim }),
        },
      },
      transports: this.#transports,
      serve: generation => {
        for (const follow of this.#followers) follow(generation);
        this.#followLater(generation.snapshot);
      },
      wait: ({ snapshot }) => this.#observation.reloads.waiting(snapshot),
    });
  }

  async #claimProof(name: string, forMs: number): Promise<boolean | 'unknown'> {
    return (await this.#limiting.redis?.claims.claimProof(name, forMs)) ?? true;
  }

  #makeLimiting({ limits, caps }: Snapshot, newSharedStore: NewSharedStore | null): Limiting {
    const limiting = new Limiting(limits, {
      ...this.#system,
      limitKeys: caps.limitKeys,
      listener: this.#observation.limits,
      storeListener: this.#observation.store,
      newSharedStore,
      part: this.#part,
      state: this.#state,
      inFlightElsewhere: () => this.#reports.inFlight,
    });
    limiting.shareRevocations(this.#revocations);
    limiting.redis?.shareNonces(this.#nonces);
    return this.#follows(limiting, (part, { snapshot }) => {
      part.apply(snapshot.limits);
      part.redis?.useSecrets(snapshot.store);
    });
  }

  /** Measures the event loop in real time, even if the gateway has another clock. */
  #makeOverload({ caps }: Snapshot): Overload {
    const overload = new Overload(caps.eventLoopDelayMs, systemClock, this.#observation.overload);
    return this.#follows(overload, (part, next) => part.use(next.snapshot.caps.eventLoopDelayMs));
  }

  #makeGateway(): Gateway {
    const gateway = new Gateway({
      generation: this.#generations.current,
      ...this.#system,
      listener: this.#observation.exchanges,
      nextRequestId: requestIdSource(this.#system.randomBytes),
      limiting: this.#limiting,
      overload: this.#overload,
      unlistedProxies: this.#unlistedProxies,
      part: this.#part,
    });
    return this.#follows(gateway, (part, generation) => part.use(generation));
  }

  /** Does not keep `source`, which contains everything that was loaded and may be large. */
  #makeWatcher(source: NonNullable<AppOptions['source']>): ConfigWatcher {
    const take = (snapshot: Snapshot) => this.take(snapshot);
    const sink = reloadSink(take, this.#observation.reloads, this.#workers);
    const current = () => this.#generations.current.snapshot;
    return new ConfigWatcher({ ...source, ...this.#system, sink, current, turns: this.#turns });
  }

  #makeAdmin(): AdminListener {
    const parts = {
      clock: this.#clock,
      record: this.#reloadRecord,
      gateway: this.#gateway,
      limiting: this.#limiting,
      observation: this.#observation,
      unlistedProxies: this.#unlistedProxies,
      generations: this.#generations,
      fixed: this.#fixed,
      watcher: this.#watcher,
      service: this.#service,
      transports: this.#transports,
      reports: this.#reports,
      notReady: () => this.#notReady(),
      allKnow: () => this.#part.allKnow(),
    };
    readGauges({
      ...parts,
      buffered: this.#buffered,
      revocations: this.#revocations,
      turns: this.#turns,
      workers: this.#workers === null ? 0 : this.#fixed.workers.count,
    });
    const dependencies = { ...this.#system, listener: this.#observation.admin };
    return this.#follows(
      new AdminListener(adminView(parts), this.#fixed.listen.admin, dependencies),
      (part, next) => part.use(next.snapshot.listen.admin),
    );
  }

  #eventOf(snapshot: Snapshot): AppliedEvent {
    const { generation, hash } = snapshot;
    return {
      generation,
      hash,
      needsRestart: restartKeys(this.#fixed.values, snapshot).map(({ key }) => key),
    };
  }

  async #drain(): Promise<boolean> {
    const { delayMs, drainMs } = this.#generations.current.snapshot.shutdown;
    this.#draining = true;
    void this.#watcher?.stop();
    const inTime = await this.#service.drain(delayMs, drainMs);
    await finishedWithin(1_000, this.#transports.close(), this.#clock);
    if (this.#spans !== null) await this.#spans.stop();
    this.#observation.recent.stop();
    this.#limiting.stop();
    await this.#state?.stop();
    this.#overload.stop();
    this.#generations.stop();
    this.#admin.close();
    return inTime;
  }

  #notReady(): string | null {
    if (this.#draining) return 'draining';
    if (!this.#started) return 'starting';
    if (this.#workers?.serves === false) return 'all workers are being replaced';
    if (this.#limiting.redis?.isReady === false) return 'waiting for Redis';
    if (this.#limiting.redis?.refuses === true) return 'Redis is unreachable, and on_failure is closed';
    return isReady(this.#generations.current) ? null : "waiting for the issuer's keys";
  }
}

function spanPeers({ upstreams }: Snapshot): ReadonlyMap<string, SpanPeer> {
  return new Map(
    upstreams.flatMap(({ name, endpoints: [first] }) =>
      first === undefined ? [] : [[name, { host: first.host, port: first.port }]],
    ),
  );
}

/**
 * Reports the watcher's findings, and passes valid configurations to the generations. Keeps nothing of what was loaded, which may
 * be large.
 */
function reloadSink(
  take: (snapshot: Snapshot) => Promise<void>,
  reloads: ReloadListener,
  workers: Workers | null,
) {
  return {
    take: async (loaded: LoadedConfig) => {
      reloads.warned(loaded.warnings.map(formatDiagnostic));
      await workers?.prepare(loaded);
      await take(loaded.snapshot);
    },
    refuse: (errors: readonly Diagnostic[]) => reloads.refused(worstFirst(errors).map(formatDiagnostic)),
    unchanged: () => reloads.unchanged(),
    unwatched: (cause: unknown) => reloads.unwatched(cause),
  };
}

/** Keeps the rules for which addresses count as one until a restart, because counters are named by the keys of addresses. */
function withKeysOf({ limits: { keying } }: Snapshot, next: Snapshot): Snapshot {
  return { ...next, limits: { ...next.limits, keying } };
}

/** Puts errors before warnings: the status page shows only the first diagnostic. */
function worstFirst(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const isError = ({ severity }: Diagnostic) => severity === 'error';
  return [...diagnostics.filter(isError), ...diagnostics.filter(diagnostic => !isError(diagnostic))];
}

/** Starts a gateway of one thread, which shares nothing. Rejects as `startApp` does. */
export async function startAlone(snapshot: Snapshot, options: StartOptions): Promise<App> {
  const state = await openStateOf(snapshot, options);
  const part = alone(options.system, state?.counters?.hashRoot);
  return startApp(snapshot, { ...options, part, state });
}

/** Assembles a gateway and starts its listeners. Rejects, leaving nothing open, when an address cannot be bound. */
export async function startApp(snapshot: Snapshot, options: AppOptions): Promise<App> {
  const app = await openApp(snapshot, options);
  options.beforeServing?.();
  // With workers, this thread serves no clients and needs no warm-up.
  if (options.workers === undefined) await warmUpFor(snapshot, options);
  await app.start();
  return app;
}

/** Assembles a gateway that is to join others of its process, and starts everything except its listeners. */
export async function openPlane(snapshot: Snapshot, options: AppOptions): Promise<PlaneApp> {
  const app = await openApp(snapshot, options);
  options.beforeServing?.();
  await warmUpFor(snapshot, options);
  app.startParts();
  return app;
}

/** Plays requests to the code of this thread, if the configuration says so. A warm-up that fails changes nothing. */
async function warmUpFor(snapshot: Snapshot, { system, log }: StartOptions): Promise<void> {
  const { warmUpMs } = snapshot;
  if (warmUpMs === null) return;
  const { playWarmUp } = await import('./warm-up/index.ts');
  const start = (played: Snapshot, log: Logger) => startAlone(played, { system, log });
  try {
    const played = await playWarmUp({ ...snapshot, warmUpMs }, system, start);
    log.debug({ type: 'warm-up', ...played }, 'warmed up');
  } catch (error) {
    log.warn({ type: 'warm-up', cause: errorText(error) }, 'the gateway could not warm up');
  }
}

async function openApp(snapshot: Snapshot, options: AppOptions): Promise<RunningApp> {
  const receiver = snapshot.tracing?.export ?? null;
  const spans =
    receiver && (await openSpanExport(receiver, readVersion(), options.log, options.system.clock));
  const newSharedStore = await loadSharedStore(snapshot.store);
  const app = new RunningApp(snapshot, options, { spans, newSharedStore });
  await app.countOn();
  return app;
}

/** Opens what is kept across a restart; `null` if nothing is. */
export async function openStateOf(
  { state }: Snapshot,
  { system, log }: Pick<StartOptions, 'system' | 'log'>,
): Promise<KeptState | null> {
  return state === null ? null : openState(state, system, log);
}
