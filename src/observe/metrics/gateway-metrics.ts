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

/** Counts what happens to the endpoints of upstreams. No label names an endpoint, since addresses come and go. */
export function upstreamMetrics(set: MetricSet) {
  const out = set.counter('weir_upstream_endpoints_out_total');
  const retriesRefused = set.counter('weir_upstream_retries_refused_total');
  return {
    endpointChanged({ upstream, reason }: core.EndpointEvent) {
      if (reason !== null) out.of(upstream).of(reason).count++;
    },
    retried(upstream: string, wasAllowed: boolean) {
      if (!wasAllowed) retriesRefused.of(upstream).count++;
    },
  } satisfies Partial<core.UpstreamListener>;
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

export function storeMetrics(set: MetricSet) {
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
    beat: (roundTripMs, clockAheadMs, replicas) => {
      roundTrip.observe(roundTripMs / 1_000);
      clockAhead.set(clockAheadMs / 1_000);
      replicaCount.set(replicas);
    },
  } satisfies Partial<core.StoreListener>;
}
