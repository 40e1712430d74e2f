import type { BucketModel, ClassName, LimitsModel } from '../../../config/index.ts';
import { classNames, groupName, limitsFor, listedClass } from '../../../config/index.ts';
import { GatewayError } from '../../../core/index.ts';
import type { Allowances } from '../../../gateway/runtime/index.ts';
import type { AccessTokenOptions } from '../../../identity/auth/index.ts';
import type { Allowance, Limit, LimitRole, LimitSet, LimitsByRole } from '../../../limits/index.ts';
import { groupCounterKey, isSharedRole, windowName, windowsOf } from '../../../limits/index.ts';
import { mainValue } from '../../../wire/http/index.ts';
import { type ApiClient, type ClientSources, clientIn, providerOf } from './client.ts';
import type { ApiCall, ApiReply } from './operation.ts';
import { badApiRequest, notFound, queryObject, readBy, unavailable } from './operation.ts';
import { type AllowanceShape, bucketsSchema, type Who } from './shapes.ts';

export interface BucketSources extends ClientSources {
  readonly allowances: Allowances;
}

interface Question {
  /** The client; `null` to ask about limits that all clients share. */
  readonly client: ApiClient | null;
  /** The bucket; `null` for all buckets. */
  readonly bucket: BucketModel | null;
  /** The value of the main parameter; `null` if none is given. */
  readonly value: string | null;
  /** The class whose limits apply to the client. */
  readonly className: ClassName;
  /** The requested group, as its counters name it; `null` if there is none. */
  readonly group: string | null;
}

export async function readBuckets(
  { query }: ApiCall,
  sources: BucketSources,
): Promise<ApiReply | GatewayError> {
  const asked = questionIn(query, sources);
  if (asked instanceof GatewayError) return asked;
  const { client, bucket, value } = asked;
  if (bucket !== null && bucket.main !== null && value === null) return valueNeeded(bucket.main);
  const all = limitsOf(asked, sources);
  const shown = all.filter(({ bucket }) => value !== null || bucket === null || bucket.main === null);
  const atOnce = atOnceOf(asked, sources);
  const counted = atOnce.filter(({ bucket }) => value !== null || bucket.main === null);
  const reading = await sources.allowances.read(
    shown.map(({ limit }) => limit),
    client?.key ?? '',
    partOf(asked),
    counted.map(({ limit }) => limit),
  );
  if (reading === null) return nothingCounts();
  const { countedIn, allowances, inFlight } = reading;
  const limits = allowances.flatMap((allowance, at) => shapeOf(shown[at], allowance));
  const needValue = namesOf(all.filter(limit => !shown.includes(limit)));
  const body = {
    countedIn,
    ...nameOf(client, sources),
    limits,
    needValue,
    atOnce: atOnce.map(each => ({
      bucket: each.bucket.name,
      concurrent: each.limit.units,
      inFlight: inFlight[counted.indexOf(each)] ?? null,
      shadow: each.isInShadow,
    })),
  };
  return { status: 200, body, change: null };
}

export async function resetBuckets(
  { query }: ApiCall,
  sources: BucketSources,
): Promise<ApiReply | GatewayError> {
  const asked = questionIn(query, sources);
  if (asked instanceof GatewayError) return asked;
  const { client, bucket, value, group } = asked;
  // Omit limits that the client shares with others: they are reset only by a request without a client.
  const limits = limitsOf(asked, sources).filter(({ limit }) => client === null || !isSharedRole(limit.role));
  const countedIn = await sources.allowances.reset(
    limits.map(({ limit }) => limit),
    client?.key ?? '',
    group === null ? value : partOf(asked),
  );
  if (countedIn === null) return nothingCounts();
  const name = nameOf(client, sources);
  const body = { countedIn, ...name, global: bucket === null, buckets: namesOf(limits) };
  const who = name.address ?? name.caller;
  return {
    status: 200,
    body,
    change: { what: 'buckets_reset', client: who, bucket: bucket?.name ?? null },
  };
}

function questionIn(query: URLSearchParams, sources: BucketSources): Question | GatewayError {
  const read = readBy(bucketsSchema, queryObject(query));
  if (read instanceof GatewayError) return read;
  const { bucket: name, value: given, group, class: named, ...who } = read;
  const value = given === undefined ? null : mainValue(encodeURIComponent(given));
  const { buckets } = sources.snapshot().limits;
  const bucket = buckets.find(each => each.name === name) ?? null;
  if (name !== undefined && bucket === null) return notFound('No route of limits.yaml uses such a bucket.');
  if (given !== undefined && (bucket === null || bucket.main === null))
    return badApiRequest('value: give it with a bucket that has a main parameter.');
  if (group !== undefined) return questionOfGroup(group, bucket, value, who, sources);
  const client = clientIn(who, sources);
  if (client instanceof GatewayError) return client;
  const className = classOf(client, named, sources);
  if (className instanceof GatewayError) return className;
  if (client !== null) return { client, bucket, value, className, group: null };
  if (bucket === null || sharedLimits(bucket, 'resource').length === 0)
    return badApiRequest('Give a client, or a bucket with a quota for "resource".');
  return value === null ? valueNeeded(bucket.main) : { client, bucket, value, className, group: null };
}

function questionOfGroup(
  group: string,
  bucket: BucketModel | null,
  value: string | null,
  { provider, ...who }: Who,
  sources: BucketSources,
): Question | GatewayError {
  if (bucket === null || sharedLimits(bucket, 'group').length === 0)
    return badApiRequest('group: give it with a bucket that has a quota for "group".');
  if (Object.keys(who).length > 0) return badApiRequest('group: give it without a client.');
  if (bucket.main !== null && value === null) return valueNeeded(bucket.main);
  const { identity } = sources.snapshot();
  const found = identity === null || identity.providers.length === 0 ? null : providerOf(provider, identity);
  if (found instanceof GatewayError) return found;
  const issuer = issuerOfGroups(found?.accessTokens);
  return { client: null, bucket, value, className: 'user', group: groupName(group, issuer) };
}

/**
 * The issuer that begins the names of groups; `null` if there is only one issuer. Also `null` for groups of tenants, which are given
 * in full: `ISSUER GROUP`.
 */
function issuerOfGroups(options: AccessTokenOptions | undefined): string | null {
  return options?.isOneOfSeveral === true && options.tenants === null ? options.issuer : null;
}

/** The class whose numbers apply: the requested one, or the one that lists the caller. */
function classOf(
  client: ApiClient | null,
  named: string | undefined,
  sources: BucketSources,
): ClassName | GatewayError {
  const { identity } = sources.snapshot();
  const names = classNames(identity);
  if (named !== undefined && !names.includes(named))
    return badApiRequest(
      `class: expected one of ${names.join(', ') || 'none, since gateway.yaml has no classes'}.`,
    );
  if (client === null || client.kind === 'address') return 'address';
  return named ?? listedClass(client.key, identity) ?? client.kind;
}

function limitsOf({ client, bucket, className, group }: Question, sources: BucketSources): AskedLimit[] {
  if (client === null)
    return bucket === null ? [] : sharedLimits(bucket, group === null ? 'resource' : 'group');
  const all = limitsOfClient(sources.snapshot().limits, client, className);
  return bucket === null ? all : all.filter(limit => limit.bucket === bucket);
}

/** The limits on how many requests of the client may be in flight, for each bucket. */
function atOnceOf(
  { client, bucket: asked, className }: Question,
  sources: BucketSources,
): (AskedLimit & { bucket: BucketModel })[] {
  if (client === null) return [];
  const buckets = asked === null ? sources.snapshot().limits.buckets : [asked];
  return buckets.flatMap(bucket => {
    const { concurrent, shadow } = limitsFor(bucket, client.key).exemptSets.of(className);
    const limit = concurrent ?? shadow?.concurrent ?? null;
    return limit === null ? [] : [{ bucket, limit, isInShadow: concurrent === null }];
  });
}

function nameOf(client: ApiClient | null, sources: BucketSources) {
  return {
    address: client?.kind === 'address' ? client.key : null,
    caller: client === null || client.kind === 'address' ? null : sources.pseudonymOf(client.key),
  };
}

function shapeOf(asked: AskedLimit | undefined, allowance: Allowance): AllowanceShape[] {
  if (asked === undefined) return [];
  const { bucket, limit, isInShadow } = asked;
  const { units, remaining, resetAtMs, waitMs } = allowance;
  return [
    {
      bucket: bucket?.name ?? null,
      counts: limit.role,
      quota: `${limit.units}/${windowName(limit)}`,
      algorithm: limit.algorithm,
      shadow: isInShadow,
      limit: units,
      used: units - remaining,
      remaining,
      resetAt: remaining === units ? null : new Date(resetAtMs).toISOString(),
      waitMs,
    },
  ];
}

function namesOf(limits: readonly AskedLimit[]): string[] {
  return [...new Set(limits.flatMap(({ bucket }) => bucket?.name ?? []))];
}

function valueNeeded(main: string | null): GatewayError {
  return badApiRequest(`value: the bucket counts each value of ${main} separately, so give one.`);
}

function nothingCounts(): GatewayError {
  return unavailable(
    'Redis is unavailable, and by on_failure of the configuration nothing counts until it is back.',
  );
}

interface AskedLimit {
  /** The bucket of the limit; `null` for the global limit. */
  readonly bucket: BucketModel | null;
  readonly limit: Limit;
  readonly isInShadow: boolean;
}

/** The limits of a client in the order of the file, the global ones first. */
function limitsOfClient(
  { global, buckets }: LimitsModel,
  { key }: ApiClient,
  className: ClassName,
): AskedLimit[] {
  return [
    ...limitsInSet(null, global.of(className)),
    ...buckets.flatMap(bucket => limitsInSet(bucket, limitsFor(bucket, key).exemptSets.of(className))),
  ];
}

/** The limits that all clients share for each value of the bucket's main parameter, or those that groups share. */
function sharedLimits(bucket: BucketModel, role: 'group' | 'resource'): AskedLimit[] {
  return limitsInSet(bucket, bucket.exemptSets.user, [role]);
}

/** Identifies, together with the client, the counters that a question is about. */
function partOf({ value, group }: Question): string {
  return group === null ? (value ?? '') : groupCounterKey(group, value ?? '');
}

/** The limits of these roles, by default those of one client; the ones in shadow last. */
function limitsInSet(
  bucket: BucketModel | null,
  set: LimitSet,
  roles: readonly LimitRole[] = ['global', 'caller', 'resource'],
): AskedLimit[] {
  const view = (limits: LimitsByRole | null, isInShadow: boolean) =>
    roles.flatMap(role => windowsOf(limits?.[role] ?? null)).map(limit => ({ bucket, limit, isInShadow }));
  return [...view(set, false), ...view(set.shadow, true)];
}
