import type * as core from '../../core/index.ts';
import type { LogLosses } from '../log/index.ts';
import type { MetricSet } from './metric-set.ts';

/** Counts how connections begin, and those closed because of what their client sent. */
export function connectionMetrics(set: MetricSet): core.ConnectionListener {
  const proxyHeaderFaults = set.counter('weir_proxy_header_faults_total');
  const handshakes = set.counter('weir_tls_handshakes_total');
  const http2Faults = set.counter('weir_http2_faults_total');
  const readers = set.counter('weir_readers_ended_total');
  return {
    proxyHeaderRefused: fault => proxyHeaderFaults.of(fault).count++,
    handshakeEnded: (listener, outcome) => handshakes.of(listener).of(outcome).count++,
    http2Closed: fault => http2Faults.of(fault).count++,
    readTooSlowly: () => readers.of('slow').count++,
    buffersFull: connections => {
      readers.of('buffered').count += connections;
    },
  };
}

/** Shows when the gateway sheds load. `weir_caps_met_total` counts the refused requests. */
export function overloadMetrics(set: MetricSet): core.OverloadListener {
  const overloaded = set.gauge('weir_overloaded');
  const episodes = set.counter('weir_overloads_total');
  return {
    began: () => {
      overloaded.set(1);
      episodes.count++;
    },
    ended: () => overloaded.set(0),
  };
}

/** Counts what the admin API refuses and changes, and failures of the admin listener. */
export function adminMetrics(set: MetricSet): core.AdminApiListener {
  const refused = set.counter('weir_admin_refused_total');
  const changes = set.counter('weir_admin_changes_total');
  const faults = set.counter('weir_admin_faults_total');
  return {
    changed: ({ what }) => changes.of(what).count++,
    failed: endpoint => faults.of(endpoint).count++,
    refused: reason => refused.of(reason).count++,
  };
}

/** Registers whether log lines are written. */
export function observeLog(set: MetricSet, losses: () => LogLosses): void {
  set.read('weir_log_lines_dropped_total', () => losses().linesDropped);
  set.read('weir_log_blocked', () => (losses().trouble === null ? 0 : 1));
}

/** The metrics of the configuration: which one is in use, and how the last reload ended. */
export function reloadMetrics(set: MetricSet, clock: core.Clock) {
  const reloads = set.counter('weir_config_reloads_total');
  const successful = set.gauge('weir_config_last_reload_successful');
  const last = set.gauge('weir_config_last_reload_timestamp_seconds');
  const appliedAt = set.gauge('weir_config_applied_timestamp_seconds');
  const info = set.gauge('weir_config_info');
  const restartKeys = set.gauge('weir_config_restart_keys');
  const watched = set.gauge('weir_config_watched');
  watched.set(1);
  const show = ({ hash, generation, needsRestart }: core.AppliedEvent) => {
    appliedAt.set(clock.epochMs() / 1_000);
    info.reset();
    info.set({ hash, generation: String(generation) }, 1);
    restartKeys.set(needsRestart.length);
  };
  const note = (isSuccessful: boolean) => {
    last.set(clock.epochMs() / 1_000);
    successful.set(isSuccessful ? 1 : 0);
  };
  const ended = (outcome: 'applied' | 'waiting' | 'refused' | 'unchanged') => {
    reloads.of(outcome).count++;
    note(outcome !== 'refused');
  };
  return {
    started: event => {
      show(event);
      note(true);
    },
    applied: (event: core.AppliedEvent) => {
      show(event);
      ended('applied');
    },
    waiting: () => ended('waiting'),
    refused: () => ended('refused'),
    unchanged: () => ended('unchanged'),
    unwatched: () => watched.set(0),
  } satisfies Partial<core.ReloadListener>;
}

/** One worker of the process, for the metrics and the status page. */
export interface WorkerView {
  /** Its number, from 1. */
  readonly worker: number;
  /** Whether it serves and reports. */
  readonly isUp: boolean;
  /** When the current one was started, milliseconds since the epoch; `null` while there is none. */
  readonly startedAtMs: number | null;
  /** How often it ended unexpectedly and was replaced, and how many requests it has answered, since the process started. */
  readonly replacements: number;
  readonly requests: number;
  readonly connections: number;
  readonly requestsInFlight: number;
  /** The delay of its event loop, averaged over a second; `null` if unknown. */
  readonly loopDelayMs: number | null;
}

/** Registers the state and activity of workers. */
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

/** A file of `state`, read at each scrape. Times are milliseconds since the epoch. */
export interface StateFileView {
  readonly file: 'state' | 'counters';
  readonly failures: number;
  /** Why the file is out of date, and since when; `null` if it is not. */
  readonly fault: { readonly cause: string; readonly sinceMs: number } | null;
  /** When it was last written; `null` if not since startup. */
  readonly writtenAtMs: number | null;
}

/** Registers how the files of `state` are written. */
export function observeState(set: MetricSet, files: () => readonly StateFileView[]): void {
  set.read('weir_state_write_failures_total', () =>
    files().map(({ file, failures }) => [{ file }, failures] as const),
  );
  set.read('weir_state_written_timestamp_seconds', () =>
    files().flatMap(({ file, writtenAtMs }) =>
      writtenAtMs === null ? [] : [[{ file }, writtenAtMs / 1_000] as const],
    ),
  );
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

/** The sharing of facts between gateways, read at each scrape. Counts are since startup. */
export interface SharingView {
  /** Restrictions and revocations not yet written to Redis. */
  readonly untold: number;
  /** Restrictions started by other gateways for clients not seen here. */
  readonly adopted: number;
  /** Offences counted only by this gateway because the queue was full. */
  readonly unshared: number;
}

/** Registers what each scrape reads from the sharing of facts. */
export function observeSharing(set: MetricSet, sharing: () => SharingView): void {
  set.read('weir_store_untold', () => sharing().untold);
  set.read('weir_restrictions_adopted', () => sharing().adopted);
  set.read('weir_store_unshared_offences_total', () => sharing().unshared);
}

/** The metrics of the shared store of limits. */
export function storeMetrics(set: MetricSet): core.StoreListener {
  const decisions = set.counter('weir_store_decisions_total');
  const failures = set.counter('weir_store_failures_total');
  const up = set.gauge('weir_store_up');
  const losses = set.counter('weir_store_lost_total');
  const behind = set.gauge('weir_store_behind');
  const skipped = set.counter('weir_store_facts_skipped_total');
  const subscribed = set.gauge('weir_store_subscribed');
  subscribed.set(1);
  const clockAhead = set.gauge('weir_store_clock_ahead_seconds');
  const replicaCount = set.gauge('weir_store_replicas');
  const roundTrip = set.histogram('weir_store_round_trip_seconds');
  return {
    decidedBy: who => decisions.of(who).count++,
    failed: reason => failures.of(reason).count++,
    lost: () => {
      up.set(0);
      losses.count++;
    },
    found: () => up.set(1),
    behind: () => behind.set(1),
    caughtUp: () => behind.set(0),
    shareFailed: skippedFacts => {
      skipped.count += skippedFacts;
    },
    subscribed: refusal => subscribed.set(refusal === null ? 1 : 0),
    // The log says which.
    rightsMissing() {},
    taskFailed() {},
    beat: (roundTripMs, clockAheadMs, replicas) => {
      roundTrip.observe(roundTripMs / 1_000);
      clockAhead.set(clockAheadMs / 1_000);
      replicaCount.set(replicas);
    },
  };
}
