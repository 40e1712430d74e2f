import { formatHostPort, type ReloadRecord, type RestartKey, type Snapshot } from '../config/index.ts';
import type { Gateway, UnlistedProxies } from '../gateway/index.ts';
import type { Generation, Limiting, SharedStore } from '../runtime/index.ts';
import type { GatewayStatus } from './status.ts';

/** Where the status comes from. */
export interface StatusSources {
  readonly startedAtMs: number;
  readonly record: ReloadRecord;
  readonly gateway: Gateway;
  readonly limiting: Limiting;
  readonly unlistedProxies: UnlistedProxies;
  notReady(): string | null;
  generation(): Generation;
  restartKeys(latest: Snapshot): readonly RestartKey[];
  reload(): GatewayStatus['configuration']['reload'];
  clientConnections(): number;
  certificates(): GatewayStatus['certificates'];
  upstreamConnections(): ReadonlyMap<string, number>;
}

/** Gathers the current status. */
export function gatherStatus(sources: StatusSources): GatewayStatus {
  const { record, gateway, startedAtMs } = sources;
  const { snapshot, identity } = sources.generation();
  return {
    startedAtMs,
    notReady: sources.notReady(),
    configuration: {
      ...record.running,
      reload: sources.reload(),
      pendingRestart: sources.restartKeys(snapshot),
      waiting: record.next,
      lastFailure: record.failure,
    },
    traffic: { connections: sources.clientConnections(), requestsInFlight: gateway.inFlight },
    unlistedProxies: sources.unlistedProxies.reports(snapshot.trustedProxies),
    provider: identity?.facts ?? null,
    store: storeStatus(sources.limiting),
    certificates: sources.certificates(),
    upstreams: upstreams(sources, snapshot),
  };
}

function storeStatus({ counts, shared, restrictions }: Limiting): GatewayStatus['store'] {
  const { keys, evictions } = counts;
  return {
    kind: shared === null ? 'memory' : 'Redis',
    state: shared === null ? 'ok' : sharedState(shared),
    keys,
    evictions,
    restrictions: restrictions.size,
  };
}

/** `ok`, or why Redis is away and which policy of the configuration decides in its place. */
function sharedState({ health, policy }: SharedStore): string {
  return health.isShared ? 'ok' : `away (${health.lastCause}); decided by on_failure: ${policy}`;
}

/** Those of the snapshot, and removed ones whose connections still drain. */
function upstreams(
  { gateway, upstreamConnections }: StatusSources,
  snapshot: Snapshot,
): GatewayStatus['upstreams'] {
  const connections = upstreamConnections();
  const known = snapshot.upstreams.map(({ name, options }) => ({
    name,
    address: formatHostPort(options),
    connections: connections.get(name) ?? 0,
    requestsInFlight: gateway.inFlightTo(name, 'requests'),
  }));
  const names = new Set(known.map(({ name }) => name));
  const draining = [...connections].filter(([name, open]) => open > 0 && !names.has(name));
  return [
    ...known,
    ...draining.map(([name, open]) => ({
      name,
      address: 'draining',
      connections: open,
      requestsInFlight: gateway.inFlightTo(name, 'requests'),
    })),
  ];
}
