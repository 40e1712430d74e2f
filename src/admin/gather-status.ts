import { hostname } from 'node:os';
import type { ReloadRecord, RestartKey, Snapshot } from '../config/index.ts';
import { readVersion } from '../core/index.ts';
import type { Gateway, UnlistedProxies } from '../gateway/index.ts';
import type { Observation } from '../observe/index.ts';
import type { Generation, Limiting, SharedStore } from '../runtime/index.ts';
import { gatherBuckets } from './gather-buckets.ts';
import { gatherCallers } from './gather-callers.ts';
import { gatherUpstreams } from './gather-upstreams.ts';
import type { GatewayStatus, ProviderStatus } from './status.ts';

/** Where the status comes from. */
export interface StatusSources {
  readonly startedAtMs: number;
  readonly record: ReloadRecord;
  readonly gateway: Gateway;
  readonly limiting: Limiting;
  readonly observation: Observation;
  readonly unlistedProxies: UnlistedProxies;
  nowMs(): number;
  notReady(): string | null;
  generation(): Generation;
  restartKeys(latest: Snapshot): readonly RestartKey[];
  reload(): GatewayStatus['configuration']['reload'];
  clientConnections(): number;
  certificates(): GatewayStatus['certificates'];
  upstreamConnections(): ReadonlyMap<string, number>;
}

const VERSION = readVersion();

/** Gathers the current status. */
export function gatherStatus(sources: StatusSources, showCallers: boolean): GatewayStatus {
  const { record, gateway, startedAtMs, observation } = sources;
  const { recent } = observation;
  const atMs = sources.nowMs();
  const { snapshot, identity } = sources.generation();
  const providers = (identity?.facts ?? []).map(facts => providerStatus(facts, sources.limiting));
  return {
    version: VERSION,
    host: hostname(),
    atMs,
    startedAtMs,
    uptimeSeconds: Math.max(0, Math.floor((atMs - startedAtMs) / 1_000)),
    notReady: sources.notReady(),
    configuration: {
      ...record.running,
      files: snapshot.files,
      reload: sources.reload(),
      pendingRestart: sources.restartKeys(snapshot),
      lastChanges: record.changes,
      waiting: record.next,
      lastFailure: record.failure,
      reloads: record.reloads,
    },
    traffic: { connections: sources.clientConnections(), requestsInFlight: gateway.inFlight },
    unlistedProxies: sources.unlistedProxies.reports(snapshot.trustedProxies),
    provider: providers[0] ?? null,
    providers,
    store: storeStatus(sources.limiting),
    log: observation.logLosses,
    buckets: gatherBuckets(snapshot, recent),
    callers: showCallers ? gatherCallers(sources) : null,
    certificates: sources.certificates(),
    upstreams: gatherUpstreams(sources, snapshot, recent),
    errors: recent.errors.list,
  };
}

function providerStatus(
  facts: NonNullable<Generation['identity']>['facts'][number],
  { shared }: Limiting,
): ProviderStatus {
  const { notBeforeS, pushedS, subjects, sessions, keptForS, keptBy } = facts.revocations;
  const momentOf = (seconds: number) => (seconds === 0 ? null : seconds * 1_000);
  const revocations = {
    notBeforeMs: momentOf(notBeforeS),
    pushedNotBeforeMs: momentOf(pushedS ?? 0),
    subjects,
    sessions,
    keptForSeconds: keptForS,
    keptBy,
    outliveRestart: shared !== null,
  };
  return { ...facts, revocations };
}

function storeStatus({ counts, shared, restrictions }: Limiting): GatewayStatus['store'] {
  const { keys, evictions } = counts;
  return {
    kind: shared === null ? 'memory' : 'Redis',
    state: shared === null ? 'ok' : sharedState(shared),
    keys,
    evictions,
    restrictions: restrictions.size,
    behind: shared?.isBehind ?? false,
  };
}

/** `ok`, or why Redis is away and which policy of the configuration decides in its place. */
function sharedState({ health, policy }: SharedStore): string {
  return health.isShared ? 'ok' : `away (${health.lastCause}); decided by on_failure: ${policy}`;
}
