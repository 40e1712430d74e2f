import type * as core from '../../core/index.ts';
import { OUT_REASONS, readVersion } from '../../core/index.ts';
import type { MetricSet } from './metric-set.ts';

/** States that are read at each scrape, as opposed to events. Counts are since startup, times milliseconds since the epoch. */
export interface Gauges {
  /** Counts requests whose complete response has not arrived yet. */
  requestsInFlight(): number;
  clientConnections(): number;
  /** Bytes held for clients. */
  bufferedBytes(): number;
  upstreamConnections(): Iterable<readonly [upstream: string, connections: number]>;
  endpoints(): Iterable<readonly [upstream: string, UpstreamView]>;
  limitCounts(): StoreView;
  sharing(): SharingView;
  certificates(): readonly CertificateView[];
  /** The longest turn of the last reload in this thread, if it serves. */
  reloadTurnMs(): number;
  /** How many revocations are remembered, for all providers. */
  revocations(): { readonly sessions: number; readonly subjects: number };
  /** The files of `state`; none if it is off. */
  stateFiles(): readonly StateFileView[];
  /** The workers of the process. Default: there are none. */
  readonly workers?: { readonly count: number; views(): readonly WorkerView[] } | undefined;
}

/** The endpoints of an upstream. */
interface UpstreamView {
  /** Why each is out; `null` for one in use. */
  readonly endpoints: readonly { readonly outFor: core.OutReason | null }[];
  /** True if every endpoint is out. Then all of them get requests nonetheless. */
  readonly allOut: boolean;
  /** Why a name cannot be looked up; `null` if none fails. */
  readonly lookupFault: string | null;
}

/** What a store holds. */
interface StoreView {
  readonly keys: number;
  readonly callerOverflows: number;
  /** The requests in flight in each bucket that limits them. */
  readonly concurrent: readonly { readonly bucket: string; readonly inFlight: number }[];
  readonly partitions: readonly PartitionView[];
}

/** Counters that compete for room only with each other. */
interface PartitionView {
  /** The bucket as configured; '' for the global limit. */
  readonly bucket: string;
  readonly role: Exclude<core.DecisionOutcome, 'admitted'>;
  readonly evictions: number;
  readonly overflows: number;
}

/** The sharing of facts between gateways. */
interface SharingView {
  /** Restrictions and revocations not yet written to Redis. */
  readonly untold: number;
  /** Restrictions started by other gateways for clients not seen here. */
  readonly adopted: number;
  /** Offences counted only by this gateway because the queue was full. */
  readonly unshared: number;
}

export interface CertificateView {
  /** Its key under `listen`. */
  readonly listener: string;
  /** Its file, as it is configured. */
  readonly certificate: string;
  readonly notAfterMs: number;
}

export interface StateFileView {
  readonly file: 'state' | 'counters';
  readonly failures: number;
  /** Why the file is out of date, and since when; `null` if it is not. */
  readonly fault: { readonly cause: string; readonly sinceMs: number } | null;
  /** When it was last written; `null` if not since startup. */
  readonly writtenAtMs: number | null;
}

/** One worker of the process, for the metrics and the status page. */
export interface WorkerView {
  /** Its number, from 1. */
  readonly worker: number;
  /** Whether it serves and reports. */
  readonly isUp: boolean;
  /** When the current one was started; `null` while there is none. */
  readonly startedAtMs: number | null;
  /** How often it ended unexpectedly and was replaced, and how many requests it has answered. */
  readonly replacements: number;
  readonly requests: number;
  readonly connections: number;
  readonly requestsInFlight: number;
  /** The delay of its event loop, averaged over a second; `null` if unknown. */
  readonly loopDelayMs: number | null;
}

/** Registers what is read at each scrape. `sharesStore`: whether gateways share a store. */
export function readGauges(set: MetricSet, gauges: Gauges, sharesStore: boolean): void {
  const { workers } = gauges;
  const build = { version: readVersion(), node: process.versions.node };
  set.gauge('weir_build_info').set(workers ? { ...build, workers: workers.count } : build, 1);
  set.read('weir_requests_in_flight', () => gauges.requestsInFlight());
  set.read('weir_client_connections', () => gauges.clientConnections());
  set.read('weir_buffered_bytes', () => gauges.bufferedBytes());
  set.read('weir_upstream_connections', () =>
    Array.from(gauges.upstreamConnections(), ([upstream, connections]) => [{ upstream }, connections]),
  );
  readLimits(set, () => gauges.limitCounts());
  set.read('weir_config_reload_longest_turn_seconds', () => gauges.reloadTurnMs() / 1_000);
  set.read('weir_tls_certificate_expiry_timestamp_seconds', () =>
    gauges.certificates().map(({ notAfterMs, ...names }) => [{ ...names }, notAfterMs / 1_000]),
  );
  set.read('weir_revocations', () => {
    const { sessions, subjects } = gauges.revocations();
    return [
      [{ kind: 'session' }, sessions],
      [{ kind: 'subject' }, subjects],
    ];
  });
  set.read('weir_state_write_failures_total', () =>
    gauges.stateFiles().map(({ file, failures }) => [{ file }, failures]),
  );
  set.read('weir_state_written_timestamp_seconds', () =>
    gauges.stateFiles().flatMap(({ file, writtenAtMs }) => seriesOf({ file }, writtenAtMs, 1_000)),
  );
  readEndpoints(set, () => gauges.endpoints());
  if (sharesStore) {
    set.read('weir_store_untold', () => gauges.sharing().untold);
    set.read('weir_restrictions_adopted', () => gauges.sharing().adopted);
    set.read('weir_store_unshared_offences_total', () => gauges.sharing().unshared);
  }
  if (workers !== undefined) readWorkers(set, () => workers.views());
}

/** Counters of shadow limits are included. */
function readLimits(set: MetricSet, store: () => StoreView): void {
  const byPartition = (count: 'evictions' | 'overflows') => () =>
    store().partitions.map(
      each => [{ bucket: each.bucket || 'none', limit: each.role }, each[count]] as const,
    );
  set.read('weir_limit_keys', () => store().keys);
  set.read('weir_limit_caller_overflows_total', () => store().callerOverflows);
  set.read('weir_limit_in_flight', () =>
    store().concurrent.map(({ bucket, inFlight }) => [{ bucket }, inFlight]),
  );
  set.read('weir_limit_keys_evicted_total', byPartition('evictions'));
  set.read('weir_limit_shared_overflows_total', byPartition('overflows'));
}

/** No label names an endpoint, since addresses come and go. */
function readEndpoints(set: MetricSet, upstreams: Gauges['endpoints']): void {
  set.read('weir_upstream_endpoints', () =>
    Array.from(upstreams()).flatMap(([upstream, { endpoints }]) =>
      [null, ...OUT_REASONS].map(reason => {
        const inState = endpoints.filter(({ outFor }) => outFor === reason);
        return [{ upstream, state: reason ?? 'used' }, inState.length] as const;
      }),
    ),
  );
  set.read('weir_upstream_all_endpoints_out', () =>
    Array.from(upstreams(), ([upstream, { allOut }]) => [{ upstream }, allOut ? 1 : 0]),
  );
  set.read('weir_upstream_lookup_failed', () =>
    Array.from(upstreams(), ([upstream, { lookupFault }]) => [{ upstream }, lookupFault === null ? 0 : 1]),
  );
}

function readWorkers(set: MetricSet, workers: () => readonly WorkerView[]): void {
  const read = (
    name: Parameters<MetricSet['read']>[0],
    amountOf: (view: WorkerView) => number | null,
    per = 1,
  ) =>
    set.read(name, () =>
      workers().flatMap(view => seriesOf({ worker: String(view.worker) }, amountOf(view), per)),
    );
  read('weir_worker_up', ({ isUp }) => (isUp ? 1 : 0));
  read('weir_worker_replacements_total', ({ replacements }) => replacements);
  read('weir_worker_requests_total', ({ requests }) => requests);
  read('weir_worker_client_connections', ({ connections }) => connections);
  read('weir_worker_event_loop_delay_seconds', ({ loopDelayMs }) => loopDelayMs, 1_000);
}

/** Makes a series, or none where the value is unknown. `per`: what the value is divided by. */
function seriesOf(labels: Readonly<Record<string, string>>, value: number | null, per: number) {
  return value === null ? [] : [[labels, value / per] as const];
}
