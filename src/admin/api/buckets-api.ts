import { type BucketModel, type IdentityModel, type LimitsModel, limitsFor } from '../../config/index.ts';
import { formatDuration, GatewayError } from '../../core/index.ts';
import { mainValue } from '../../http/index.ts';
import type { Allowance, Limit, LimitSet, LimitsByRole } from '../../limits/index.ts';
import type { Allowances } from '../../runtime/index.ts';
import { type ApiClient, clientOf } from './client.ts';
import {
  type ApiCall,
  type ApiReply,
  badApiRequest,
  notFound,
  queryObject,
  readBy,
  unavailable,
} from './operation.ts';
import { type AllowanceShape, type BucketsQuery, bucketsSchema } from './shapes.ts';

export interface BucketSources {
  readonly allowances: Allowances;
  identity(): IdentityModel | null;
  limits(): LimitsModel;
  /** The name of a caller in the log. */
  pseudonymOf(key: string): string;
}

/** The allowances that a request asks about. */
interface Question {
  /** The client; `null` for limits that all clients share. */
  readonly client: ApiClient | null;
  /** The bucket; `null` for all buckets. */
  readonly bucket: BucketModel | null;
  /** The value of the main parameter; `null` if none is given. */
  readonly value: string | null;
}

/** Shows and resets what clients have consumed. */
export class BucketsApi {
  readonly #sources: BucketSources;

  constructor(sources: BucketSources) {
    this.#sources = sources;
  }

  async read({ query }: ApiCall): Promise<ApiReply | GatewayError> {
    const asked = this.#ask(query);
    if (asked instanceof GatewayError) return asked;
    const { client, bucket, value } = asked;
    if (bucket !== null && bucket.main !== null && value === null) return valueNeeded(bucket.main);
    const all = this.#limitsOf(asked);
    const shown = all.filter(({ bucket }) => value !== null || bucket === null || bucket.main === null);
    const reading = await this.#sources.allowances.read(
      shown.map(({ limit }) => limit),
      client?.key ?? '',
      value ?? '',
    );
    if (reading === null) return nothingCounts();
    const { countedIn, allowances } = reading;
    const limits = allowances.flatMap((allowance, at) => shapeOf(shown[at], allowance));
    const needValue = namesOf(all.filter(limit => !shown.includes(limit)));
    return { status: 200, body: { countedIn, ...this.#nameOf(client), limits, needValue }, change: null };
  }

  async reset({ query }: ApiCall): Promise<ApiReply | GatewayError> {
    const asked = this.#ask(query);
    if (asked instanceof GatewayError) return asked;
    const { client, bucket, value } = asked;
    // Leave out limits that the client shares with others: they are reset only by a request without a client.
    const limits = this.#limitsOf(asked).filter(({ limit }) => client === null || limit.role !== 'resource');
    const countedIn = await this.#sources.allowances.reset(
      limits.map(({ limit }) => limit),
      client?.key ?? '',
      value,
    );
    if (countedIn === null) return nothingCounts();
    const name = this.#nameOf(client);
    const body = { countedIn, ...name, global: bucket === null, buckets: namesOf(limits) };
    const who = name.address ?? name.caller;
    return {
      status: 200,
      body,
      change: { what: 'buckets_reset', client: who, bucket: bucket?.name ?? null },
    };
  }

  #ask(query: URLSearchParams): Question | GatewayError {
    const read = readBy(bucketsSchema, queryObject(query));
    if (!read.ok) return read.error;
    const { bucket: name, value: given, ...who } = read.value;
    const value = given === undefined ? null : mainValue(encodeURIComponent(given));
    const { buckets } = this.#sources.limits();
    const bucket = buckets.find(each => each.name === name) ?? null;
    if (name !== undefined && bucket === null) return notFound('No route of limits.yaml uses such a bucket.');
    if (given !== undefined && (bucket === null || bucket.main === null))
      return badApiRequest('value: give it with a bucket that has a main parameter.');
    const client = this.#clientIn(who);
    if (client instanceof GatewayError) return client;
    if (client !== null) return { client, bucket, value };
    if (bucket === null || sharedLimits(bucket).length === 0)
      return badApiRequest('Give a client, or a bucket with a quota for "resource".');
    return value === null ? valueNeeded(bucket.main) : { client, bucket, value };
  }

  #clientIn(who: Omit<BucketsQuery, 'bucket' | 'value'>): ApiClient | GatewayError | null {
    return Object.keys(who).length === 0 ? null : clientOf(who, this.#sources.identity());
  }

  #limitsOf({ client, bucket }: Question): CountedLimit[] {
    if (client === null) return bucket === null ? [] : sharedLimits(bucket);
    const all = limitsOfClient(this.#sources.limits(), client);
    return bucket === null ? all : all.filter(limit => limit.bucket === bucket);
  }

  #nameOf(client: ApiClient | null) {
    return {
      address: client?.kind === 'address' ? client.key : null,
      caller: client === null || client.kind === 'address' ? null : this.#sources.pseudonymOf(client.key),
    };
  }
}

function shapeOf(counted: CountedLimit | undefined, allowance: Allowance): AllowanceShape[] {
  if (counted === undefined) return [];
  const { bucket, limit, isInShadow } = counted;
  const { units, remaining, resetAtMs, waitMs } = allowance;
  return [
    {
      bucket: bucket?.name ?? null,
      counts: limit.role,
      quota: `${limit.units}/${formatDuration(limit.periodMs)}`,
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

function namesOf(limits: readonly CountedLimit[]): string[] {
  return [...new Set(limits.flatMap(({ bucket }) => bucket?.name ?? []))];
}

function valueNeeded(main: string | null): GatewayError {
  return badApiRequest(`value: the bucket counts each value of ${main} by itself, so give one.`);
}

function nothingCounts(): GatewayError {
  return unavailable(
    'Redis is away, and by on_failure of the configuration nothing counts until it is back.',
  );
}

/** A limit, and how it holds for a client. */
interface CountedLimit {
  /** The bucket of the limit; `null` for the global limit. */
  readonly bucket: BucketModel | null;
  readonly limit: Limit;
  readonly isInShadow: boolean;
}

/** The limits of a client in the order of the file, the global ones first. */
function limitsOfClient({ global, buckets }: LimitsModel, { kind, key }: ApiClient): CountedLimit[] {
  return [
    ...limitsIn(null, global[kind]),
    ...buckets.flatMap(bucket => limitsIn(bucket, limitsFor(bucket, key).exemptSets[kind])),
  ];
}

/** The limits that all clients share for each value of the bucket's main parameter. */
function sharedLimits(bucket: BucketModel): CountedLimit[] {
  return limitsIn(bucket, bucket.exemptSets.user).filter(({ limit }) => limit.role === 'resource');
}

function limitsIn(bucket: BucketModel | null, set: LimitSet): CountedLimit[] {
  const view = (limits: LimitsByRole, isInShadow: boolean) =>
    [limits.global, limits.caller, limits.resource]
      .filter(limit => limit !== null)
      .map(limit => ({ bucket, limit, isInShadow }));
  return [...view(set, false), ...(set.shadow === null ? [] : view(set.shadow, true))];
}
