import { OUT_REASONS, readVersion, type Turns } from '../../core/index.ts';
import { certificatesOf } from '../../edge/admin/index.ts';
import type { Buffered } from '../../edge/server/index.ts';
import type { Limiting } from '../../gateway/runtime/index.ts';
import type { Revocations } from '../../identity/auth/index.ts';
import type { Observation } from '../../observe/index.ts';
import type { ShownParts } from './admin-view.ts';
import type { WorkerReports } from './worker-reports.ts';

interface GaugedParts extends ShownParts {
  readonly buffered: Buffered;
  readonly revocations: Revocations;
  readonly turns: Turns;
  /** How many workers this thread has; 0 if it serves itself. */
  readonly workers: number;
}

type Read = Observation['read'];

/** Registers values that are read at each scrape: states rather than events. */
export function readGauges(parts: GaugedParts): void {
  const { observation, gateway, service, buffered, limiting, reports, transports, workers } = parts;
  const { read } = observation;
  const build = { version: readVersion(), node: process.versions.node };
  read('weir_build_info', () => [[workers > 0 ? { ...build, workers: String(workers) } : build, 1]]);
  read('weir_requests_in_flight', () => gateway.inFlight);
  read('weir_client_connections', () => service.connections);
  read('weir_buffered_bytes', () => buffered.bytes);
  read('weir_upstream_connections', () =>
    Array.from(reports.upstreamConnections(transports.connections), ([upstream, open]) => [
      { upstream },
      open,
    ]),
  );
  // With workers, this thread serves no clients.
  read('weir_config_reload_longest_turn_seconds', () => (workers > 0 ? 0 : parts.turns.longestMs / 1_000));
  read('weir_tls_certificate_expiry_timestamp_seconds', () =>
    certificatesOf(parts.generations.current).map(({ notAfterMs, ...names }) => [names, notAfterMs / 1_000]),
  );
  read('weir_revocations', () => {
    const { sessions, subjects } = parts.revocations.counts;
    return [
      [{ kind: 'session' }, sessions],
      [{ kind: 'subject' }, subjects],
    ];
  });
  readLimits(read, limiting);
  readEndpoints(read, () => reports.endpoints(transports.states));
  if (workers > 0) readWorkers(read, reports);
}

/** Counters of shadow limits are included. */
function readLimits(read: Read, limiting: Limiting): void {
  const byPartition = (count: 'evictions' | 'overflows') => () =>
    limiting.counts.partitions.map(
      each => [{ bucket: each.bucket || 'none', limit: each.role }, each[count]] as const,
    );
  read('weir_limit_keys', () => limiting.counts.keys);
  read('weir_limit_caller_overflows_total', () => limiting.counts.callerOverflows);
  read('weir_limit_in_flight', () =>
    limiting.counts.concurrent.map(({ bucket, inFlight }) => [{ bucket }, inFlight]),
  );
  read('weir_limit_keys_evicted_total', byPartition('evictions'));
  read('weir_limit_shared_overflows_total', byPartition('overflows'));
  read('weir_state_write_failures_total', () =>
    limiting.stateFiles.map(({ file, failures }) => [{ file }, failures]),
  );
  read('weir_state_written_timestamp_seconds', () =>
    limiting.stateFiles.flatMap(({ file, writtenAtMs }) => seriesOf({ file }, writtenAtMs, 1_000)),
  );
  if (limiting.redis === null) return;
  read('weir_store_untold', () => limiting.sharing.untold);
  read('weir_restrictions_adopted', () => limiting.sharing.adopted);
  read('weir_store_unshared_offences_total', () => limiting.sharing.unshared);
}

/** No label names an endpoint, since addresses come and go. */
export function readEndpoints(read: Read, upstreams: () => ReturnType<WorkerReports['endpoints']>): void {
  read('weir_upstream_endpoints', () =>
    Array.from(upstreams()).flatMap(([upstream, { endpoints }]) =>
      [null, ...OUT_REASONS].map(reason => {
        const inState = endpoints.filter(({ outFor }) => outFor === reason);
        return [{ upstream, state: reason ?? 'used' }, inState.length] as const;
      }),
    ),
  );
  read('weir_upstream_all_endpoints_out', () =>
    Array.from(upstreams(), ([upstream, { allOut }]) => [{ upstream }, allOut ? 1 : 0]),
  );
  read('weir_upstream_lookup_failed', () =>
    Array.from(upstreams(), ([upstream, { lookupFault }]) => [{ upstream }, lookupFault === null ? 0 : 1]),
  );
}

function readWorkers(read: Read, reports: WorkerReports): void {
  const readEach = (
    name: Parameters<Read>[0],
    amountOf: (view: WorkerReports['views'][number]) => number | null,
    per = 1,
  ) =>
    read(name, () =>
      reports.views.flatMap(view => seriesOf({ worker: String(view.worker) }, amountOf(view), per)),
    );
  readEach('weir_worker_up', ({ isUp }) => (isUp ? 1 : 0));
  readEach('weir_worker_replacements_total', ({ replacements }) => replacements);
  readEach('weir_worker_requests_total', ({ requests }) => requests);
  readEach('weir_worker_client_connections', ({ connections }) => connections);
  readEach('weir_worker_event_loop_delay_seconds', ({ loopDelayMs }) => loopDelayMs, 1_000);
}

/** Makes a series, or none if the value is unknown. `per`: the divisor of the value. */
function seriesOf(labels: Readonly<Record<string, string>>, value: number | null, per: number) {
  return value === null ? [] : [[labels, value / per] as const];
}
