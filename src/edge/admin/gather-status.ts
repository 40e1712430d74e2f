import { hostname } from 'node:os';
import type { BucketModel, ReloadRecord, RestartKey, Snapshot } from '../../config/index.ts';
import { formatHostPort, readVersion, type UnlistedProxy } from '../../core/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import type { Generation, Limiting, ProviderFacts, SharedStore } from '../../gateway/runtime/index.ts';
import { isPrincipal } from '../../identity/auth/index.ts';
import type { ByClass, Limit, LimitSet, LimitsByRole } from '../../limits/index.ts';
import { callersInFlight, NO_LIMITS, windowName, windowsOf } from '../../limits/index.ts';
import type { Observation, Recent, TopCaller } from '../../observe/index.ts';
import type { EndpointsState } from '../../upstream/index.ts';
import { asEndpointStatus, networksOf } from './api/index.ts';

interface StatusSources {
  readonly startedAtMs: number;
  readonly fixed: Pick<Snapshot, 'workers'>;
  readonly record: ReloadRecord;
  readonly gateway: Pick<Gateway, 'inFlightTo'>;
  readonly limiting: Limiting;
  readonly observation: Observation;
  nowMs(): number;
  /** The workers; none if the main thread itself serves clients. */
  workers(): readonly WorkerView[];
  requestsInFlight(): number;
  unlistedProxies(trusted: Snapshot['trustedProxies']): readonly UnlistedProxy[];
  notReady(): string | null;
  generation(): Generation;
  restartKeys(latest: Snapshot): readonly RestartKey[];
  /** How changes are noticed: by events and polling, by polling only, or not at all. */
  reload(): 'watch' | 'poll' | 'off';
  clientConnections(): number;
  upstreamConnections(): ReadonlyMap<string, number>;
  endpoints(): ReadonlyMap<string, EndpointsState>;
}

const VERSION = readVersion();

/** A caller as the log names it: by a pseudonym, or by its address. */
export type CallerName = { readonly caller: string } | { readonly address: string };

/**
 * Collects the current status. Times are milliseconds since the epoch. docs/operations.md documents the keys of the JSON form,
 * which are stable.
 */
export function gatherStatus(sources: StatusSources, showCallers: boolean) {
  const { record, startedAtMs, observation } = sources;
  const { recent } = observation;
  const atMs = sources.nowMs();
  const { snapshot, identity } = sources.generation();
  const providers = (identity?.facts ?? []).map(facts => providerStatus(facts, sources.limiting));
  return {
    version: VERSION,
    node: process.versions.node,
    host: hostname(),
    atMs,
    startedAtMs,
    uptimeSeconds: Math.max(0, Math.floor((atMs - startedAtMs) / 1_000)),
    notReady: sources.notReady(),
    workers: { ...sources.fixed.workers, each: sources.workers().map(workerStatus) },
    memory: snapshot.memory,
    descriptors: snapshot.descriptors,
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
    traffic: { connections: sources.clientConnections(), requestsInFlight: sources.requestsInFlight() },
    unlistedProxies: sources.unlistedProxies(snapshot.trustedProxies),
    defaultRefusals: sources.limiting.defaults.reports(snapshot),
    provider: providers[0] ?? null,
    providers,
    store: storeStatus(sources.limiting),
    state: sources.limiting.stateFiles.map(stateFileStatus),
    log: observation.logLosses,
    buckets: gatherBuckets(snapshot, recent),
    concurrent: sources.limiting.counts.concurrent,
    callers: showCallers ? gatherCallers(sources) : null,
    certificates: certificatesOf(sources.generation()),
    upstreams: gatherUpstreams(sources, snapshot, recent),
    errors: recent.errors.list,
  };
}

interface WorkerView {
  /** Its number, from 1. */
  readonly worker: number;
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

function workerStatus({ isUp, loopDelayMs, ...view }: WorkerView) {
  return { ...view, up: isUp, eventLoopDelayMs: loopDelayMs && Math.round(loopDelayMs * 10) / 10 };
}

function stateFileStatus({ fault, ...file }: Limiting['stateFiles'][number]) {
  return { ...file, cause: fault?.cause ?? null, sinceMs: fault?.sinceMs ?? null };
}

/** The certificates of all listeners, by the listener's key in `listen` and the file as it is configured. */
export function certificatesOf({ snapshot: { listen } }: Pick<Generation, 'snapshot'>) {
  const { http, grpc, admin } = listen;
  return Object.entries({ http, grpc, admin }).flatMap(([listener, model]) =>
    (model?.tls?.certificates ?? []).map(({ name: certificate, notAfterMs }) => ({
      listener,
      certificate,
      notAfterMs,
    })),
  );
}

function providerStatus(facts: ProviderFacts, { outlivesRestart }: Limiting) {
  const { notBeforeS, pushedS, subjects, sessions, keptForS, keptBy } = facts.revocations;
  const momentOf = (seconds: number) => (seconds === 0 ? null : seconds * 1_000);
  const revocations = {
    notBeforeMs: momentOf(notBeforeS),
    pushedNotBeforeMs: momentOf(pushedS ?? 0),
    subjects,
    sessions,
    keptForSeconds: keptForS,
    keptBy,
    outliveRestart: outlivesRestart,
  };
  return { ...facts, revocations };
}

function storeStatus({ counts, redis, restrictions }: Limiting) {
  const { keys, evictions } = counts;
  return {
    kind: redis === null ? 'memory' : 'Redis',
    state: redis === null ? 'ok' : redisState(redis),
    keys,
    evictions,
    restrictions: restrictions.size,
    behind: redis?.isBehind ?? false,
  };
}

/** `ok`, or why Redis is unreachable and which configured policy decides instead. */
function redisState({ health, policy }: SharedStore): string {
  if (!health.isShared) return `unavailable (${health.lastCause}); decided by on_failure: ${policy}`;
  const missing = health.missingRights;
  return missing.length === 0 ? 'ok' : `ok, but the Redis user may not ${missing.join(', ')}`;
}

/** Returns the upstreams of the snapshot, and removed ones whose connections are still draining. */
function gatherUpstreams(
  { gateway, upstreamConnections, endpoints }: StatusSources,
  snapshot: Snapshot,
  { errors }: Recent,
) {
  const connections = upstreamConnections();
  const states = endpoints();
  const known = new Map(
    snapshot.upstreams.map(({ name, endpoints }) => [name, endpoints.map(placeOf).join(', ')]),
  );
  const draining = [...connections].filter(([name, open]) => open > 0 && !known.has(name));
  return [...known, ...draining.map(([name]) => [name, 'draining'] as const)].map(([name, address]) => ({
    name,
    address,
    connections: connections.get(name) ?? 0,
    requestsInFlight: gateway.inFlightTo(name),
    errors: withoutKind(errors.ofUpstream(name)),
    ...endpointStatus(states.get(name)),
  }));
}

/** Only the name if SRV records determine the ports. */
function placeOf(endpoint: Snapshot['upstreams'][number]['endpoints'][number]): string {
  return endpoint.lookup === 'srv' ? endpoint.host : formatHostPort(endpoint);
}

const MAX_ENDPOINTS = 100;

/** Returns the endpoints of an upstream; none while it drains. Those that are out come first. */
function endpointStatus(state: EndpointsState | undefined) {
  const { endpoints, allOut, lookupFault } = state ?? { endpoints: [], allOut: false, lookupFault: null };
  const inOrder = endpoints.toSorted(
    (one, other) => Number(one.outFor === null) - Number(other.outFor === null),
  );
  return {
    endpoints: inOrder.slice(0, MAX_ENDPOINTS).map(asEndpointStatus),
    endpointCount: endpoints.length,
    allEndpointsOut: allOut,
    lookupFault,
  };
}

function withoutKind(error: ReturnType<Recent['errors']['ofUpstream']>) {
  if (error === null) return null;
  const { kind, ...rest } = error;
  return rest;
}

const MAX_LISTED = 25;
const MAX_RESTRICTIONS = 100;

/** Collects who is refused, or will be soon. Users and bots appear under their pseudonyms, addresses unchanged. */
function gatherCallers({ limiting, observation }: StatusSources) {
  const nameOf = (isAddress: boolean, key: string): CallerName =>
    isAddress ? { address: key } : { caller: observation.pseudonymOf(key) };
  const viewOf = ({ caller, callerClass, lastMs, restricted: _, why: __, ...top }: TopCaller) => ({
    ...nameOf(callerClass === 'address', caller),
    class: callerClass,
    ...top,
    lastAtMs: lastMs,
  });
  const { refused, nearLimit } = observation.recent.callers;
  const restrictions = limiting.restrictions.listed
    .byName(MAX_RESTRICTIONS)
    .map(({ kind, key, reason, sinceEpochMs, untilEpochMs }) => ({
      ...nameOf(kind !== 'principal', key),
      kind,
      reason,
      sinceMs: sinceEpochMs,
      untilMs: untilEpochMs,
    }));
  return {
    refusedNetworks: networksOf(refused).slice(0, MAX_LISTED),
    refusedMost: refused
      .slice(0, MAX_LISTED)
      .map(top => ({ ...viewOf(top), restricted: top.restricted, why: top.why })),
    nearLimit: nearLimit.slice(0, MAX_LISTED).map(viewOf),
    mostInFlight: callersInFlight(limiting.local.inFlight)
      .toSorted((one, other) => other.inFlight - one.inFlight)
      .slice(0, MAX_LISTED)
      .map(({ caller, ...counted }) => ({ ...nameOf(!isPrincipal(caller), caller), ...counted })),
    restrictions,
    unlistedRestrictions: Math.max(0, limiting.restrictions.size - restrictions.length),
  };
}

/** The limits of a bucket, or of requests without one. */
interface LimitSource {
  readonly sets: ByClass<LimitSet>;
  readonly rollout: BucketModel['rollout'];
}

/** Collects the decisions of limits by bucket and class, for the pairs that metrics count. */
function gatherBuckets({ limits, labels }: Snapshot, recent: Recent) {
  const buckets = new Map<string, LimitSource>(limits.buckets.map(bucket => [bucket.name, bucket]));
  const withoutBucket: LimitSource = { sets: limits.global, rollout: null };
  const near = Map.groupBy(recent.callers.nearLimit, whereOf);
  return labels.buckets.map(({ bucket, callerClass }) => ({
    bucket,
    class: callerClass,
    limits: limitStatusesOf(buckets.get(bucket) ?? withoutBucket, callerClass),
    ...recent.decisions.of(bucket, callerClass),
    callersNearLimit: near.get(whereOf({ bucket, callerClass }))?.length ?? 0,
  }));
}

function whereOf({ bucket, callerClass }: Pick<TopCaller, 'bucket' | 'callerClass'>): string {
  return `${callerClass} ${bucket}`;
}

function limitStatusesOf({ sets, rollout }: LimitSource, callerClass: string) {
  const set = sets.of(callerClass);
  const percent = rollout?.share.percent ?? 100;
  // A roll-out applies to the limits of the bucket, not the global limit.
  const percentOf = ({ role }: Limit) => (role === 'global' ? 100 : percent);
  const inShadow = set.shadow === null ? [] : list(set.shadow);
  // If other numbers are tested on the share, the limits of the bucket apply to the other callers.
  const held = rollout?.triesNumbers === true ? rollout.others.sets.of(callerClass) : NO_LIMITS;
  return [
    ...list(set).map(limit => viewOf(limit, percentOf(limit))),
    ...list({ ...held, global: null }).map(limit => viewOf(limit, 100 - percent)),
    ...inShadow.map(limit => viewOf(limit, 0)),
    ...atOnce(set.concurrent, percent),
    ...atOnce(held.concurrent, 100 - percent),
    ...atOnce(set.shadow?.concurrent ?? null, 0),
  ];
}

/** The limit on how many requests of one caller may be in flight. */
function atOnce(limit: Limit | null, enforcedPercent: number) {
  if (limit === null) return [];
  return [{ limit: 'concurrent', quota: String(limit.units), algorithm: null, enforcedPercent }];
}

function list({ caller, group, resource, global }: LimitsByRole): Limit[] {
  return [caller, group, resource, global].flatMap(windowsOf);
}

function viewOf(limit: Limit, enforcedPercent: number) {
  const { role, units, algorithm } = limit;
  return { limit: role, quota: `${units}/${windowName(limit)}`, algorithm, enforcedPercent };
}
