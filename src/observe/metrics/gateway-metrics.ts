import type { Gauge } from 'prom-client';
import type * as core from '../../core/index.ts';
import type { LogLosses } from '../log/index.ts';
import type { MetricSet, Tally, TallyHistogram } from './metric-set.ts';

/** Counts how connections begin, and those that were closed for what their client sent. */
export class ConnectionMetrics implements core.ConnectionListener {
  readonly #proxyHeaderFaults: Tally;
  readonly #handshakes: Tally;
  readonly #http2Faults: Tally;

  constructor(set: MetricSet) {
    this.#proxyHeaderFaults = set.counter('weir_proxy_header_faults_total');
    this.#handshakes = set.counter('weir_tls_handshakes_total');
    this.#http2Faults = set.counter('weir_http2_faults_total');
  }

  proxyHeaderRefused(fault: core.ProxyHeaderFault): void {
    this.#proxyHeaderFaults.of(fault).count++;
  }

  handshakeEnded(listener: string, outcome: core.HandshakeOutcome): void {
    this.#handshakes.of(listener).of(outcome).count++;
  }

  http2Closed(fault: core.Http2FaultReason): void {
    this.#http2Faults.of(fault).count++;
  }
}

/** Shows when the gateway sheds. What it refuses is in `weir_caps_met_total`. */
export class OverloadMetrics implements core.OverloadListener {
  readonly #overloaded: Gauge;
  readonly #episodes: Tally;

  constructor(set: MetricSet) {
    this.#overloaded = set.gauge('weir_overloaded');
    this.#episodes = set.counter('weir_overloads_total');
  }

  began(): void {
    this.#overloaded.set(1);
    this.#episodes.count++;
  }

  ended(): void {
    this.#overloaded.set(0);
  }
}

/** Counts what the admin API refuses and changes, and what the admin listener fails to answer. */
export class AdminMetrics implements core.AdminApiListener {
  readonly #refused: Tally;
  readonly #changes: Tally;
  readonly #faults: Tally;

  constructor(set: MetricSet) {
    this.#refused = set.counter('weir_admin_refused_total');
    this.#changes = set.counter('weir_admin_changes_total');
    this.#faults = set.counter('weir_admin_faults_total');
  }

  changed({ what }: core.AdminChange): void {
    this.#changes.of(what).count++;
  }

  failed(endpoint: core.AdminEndpoint): void {
    this.#faults.of(endpoint).count++;
  }

  refused(reason: core.AdminRefusal): void {
    this.#refused.of(reason).count++;
  }
}

/** Registers whether log lines are written. */
export function observeLog(set: MetricSet, losses: () => LogLosses): void {
  set.read('weir_log_lines_dropped_total', () => losses().linesDropped);
  set.read('weir_log_blocked', () => (losses().trouble === null ? 0 : 1));
}

/** The metrics of the configuration: what is in use, and how the last reload ended. */
export class ReloadMetrics implements Partial<core.ReloadListener> {
  readonly #clock: core.Clock;
  readonly #reloads: Tally;
  readonly #successful: Gauge;
  readonly #last: Gauge;
  readonly #applied: Gauge;
  readonly #info: Gauge<string>;
  readonly #needsRestart: Gauge;
  readonly #watched: Gauge;

  constructor(set: MetricSet, clock: core.Clock) {
    this.#clock = clock;
    this.#reloads = set.counter('weir_config_reloads_total');
    this.#successful = set.gauge('weir_config_last_reload_successful');
    this.#last = set.gauge('weir_config_last_reload_timestamp_seconds');
    this.#applied = set.gauge('weir_config_applied_timestamp_seconds');
    this.#info = set.gauge('weir_config_info');
    this.#needsRestart = set.gauge('weir_config_restart_keys');
    this.#watched = set.gauge('weir_config_watched');
    this.#watched.set(1);
  }

  started(event: core.AppliedEvent): void {
    this.#show(event);
    this.#note(true);
  }

  applied(event: core.AppliedEvent): void {
    this.#show(event);
    this.#ended('applied');
  }

  waiting(): void {
    this.#ended('waiting');
  }

  refused(): void {
    this.#ended('refused');
  }

  unchanged(): void {
    this.#ended('unchanged');
  }

  unwatched(): void {
    this.#watched.set(0);
  }

  #show({ hash, generation, needsRestart }: core.AppliedEvent): void {
    this.#applied.set(this.#clock.epochMs() / 1_000);
    this.#info.reset();
    this.#info.set({ hash, generation: String(generation) }, 1);
    this.#needsRestart.set(needsRestart.length);
  }

  #ended(outcome: 'applied' | 'waiting' | 'refused' | 'unchanged'): void {
    this.#reloads.of(outcome).count++;
    this.#note(outcome !== 'refused');
  }

  #note(successful: boolean): void {
    this.#last.set(this.#clock.epochMs() / 1_000);
    this.#successful.set(successful ? 1 : 0);
  }
}

/** One worker of the process, for the metrics and the status page. */
export interface WorkerView {
  /** Its number, from 1. */
  readonly worker: number;
  /** Whether it serves and reports. */
  readonly isUp: boolean;
  /** When the present one was started, milliseconds since the epoch; `null` while there is none. */
  readonly startedAtMs: number | null;
  /** How often it ended unasked and was replaced, and how many requests it has answered, since the start of the process. */
  readonly replacements: number;
  readonly requests: number;
  readonly connections: number;
  readonly requestsInFlight: number;
  /** How late its event loop is on the average of a second; `null` if that is not known. */
  readonly loopDelayMs: number | null;
}

/** Registers what the workers are and do. */
export function observeWorkers(set: MetricSet, workers: () => readonly WorkerView[]): void {
  const read = (name: Parameters<MetricSet['read']>[0], amountOf: (view: WorkerView) => number | null) =>
    set.read(name, () =>
      workers().flatMap(view => {
        const value = amountOf(view);
        return value === null ? [] : [[{ worker: String(view.worker) }, value] as const];
      }),
    );
  read('weir_worker_up', ({ isUp }) => (isUp ? 1 : 0));
  read('weir_worker_replacements_total', ({ replacements }) => replacements);
  read('weir_worker_requests_total', ({ requests }) => requests);
  read('weir_worker_client_connections', ({ connections }) => connections);
  read('weir_worker_event_loop_delay_seconds', ({ loopDelayMs }) => loopDelayMs && loopDelayMs / 1_000);
}

/** A certificate in use, read at each scrape. */
export interface CertificateView {
  /** Its key under `listen`. */
  readonly listener: string;
  /** Its file, as it is configured. */
  readonly certificate: string;
  readonly notAfterMs: number;
}

/** Registers when each certificate expires. */
export function observeCertificates(set: MetricSet, certificates: () => readonly CertificateView[]): void {
  set.read('weir_tls_certificate_expiry_timestamp_seconds', () =>
    certificates().map(({ listener, certificate, notAfterMs }) => [
      { listener, certificate },
      notAfterMs / 1_000,
    ]),
  );
}

/** What gateways share, read at each scrape. Counts are since the start. */
export interface SharingView {
  /** Restrictions and revocations not yet written to Redis. */
  readonly untold: number;
  /** Restrictions started by other gateways whose clients have not been seen here. */
  readonly adopted: number;
  /** Offences counted by this gateway alone because the queue was full. */
  readonly unshared: number;
}

/** The metrics of the shared store of limits. */
export class StoreMetrics implements core.StoreListener {
  readonly #set: MetricSet;
  readonly #decisions: Tally;
  readonly #failures: Tally;
  readonly #up: Gauge;
  readonly #lost: Tally;
  readonly #behind: Gauge;
  readonly #skipped: Tally;
  readonly #subscribed: Gauge;
  readonly #clockAhead: Gauge;
  readonly #replicas: Gauge;
  readonly #roundTrip: TallyHistogram;

  constructor(set: MetricSet) {
    this.#set = set;
    this.#decisions = set.counter('weir_store_decisions_total');
    this.#failures = set.counter('weir_store_failures_total');
    this.#up = set.gauge('weir_store_up');
    this.#lost = set.counter('weir_store_lost_total');
    this.#behind = set.gauge('weir_store_behind');
    this.#skipped = set.counter('weir_store_facts_skipped_total');
    this.#subscribed = set.gauge('weir_store_subscribed');
    this.#subscribed.set(1);
    this.#clockAhead = set.gauge('weir_store_clock_ahead_seconds');
    this.#replicas = set.gauge('weir_store_replicas');
    this.#roundTrip = set.histogram('weir_store_round_trip_seconds');
  }

  /** Registers what is read at each scrape. */
  observe(sharing: () => SharingView): void {
    this.#set.read('weir_store_untold', () => sharing().untold);
    this.#set.read('weir_restrictions_adopted', () => sharing().adopted);
    this.#set.read('weir_store_unshared_offences_total', () => sharing().unshared);
  }

  decidedBy(who: core.DecidedBy): void {
    this.#decisions.of(who).count++;
  }

  failed(reason: core.StoreFailure): void {
    this.#failures.of(reason).count++;
  }

  lost(): void {
    this.#up.set(0);
    this.#lost.count++;
  }

  found(): void {
    this.#up.set(1);
  }

  behind(): void {
    this.#behind.set(1);
  }

  caughtUp(): void {
    this.#behind.set(0);
  }

  shareFailed(skippedFacts: number): void {
    this.#skipped.count += skippedFacts;
  }

  subscribed(refusal: string | null): void {
    this.#subscribed.set(refusal === null ? 1 : 0);
  }

  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void {
    this.#roundTrip.observe(roundTripMs / 1_000);
    this.#clockAhead.set(clockAheadMs / 1_000);
    this.#replicas.set(replicas);
  }
}
