import type {
  DescriptorsModel,
  MemoryModel,
  ReloadRecord,
  RestartKey,
  WorkersModel,
} from '../../config/index.ts';
import { type DefaultRefusal, escapeInvisible, type UnlistedProxy } from '../../core/index.ts';
import type { BucketInFlight } from '../../limits/index.ts';
import type * as observe from '../../observe/index.ts';
import type { ProviderFacts } from '../../process/runtime/index.ts';
import type { EndpointStatus, RefusedNetwork } from './api/index.ts';

/**
 * The status of a gateway. Times are milliseconds since the epoch. docs/operations.md documents the keys of the JSON form, which
 * are stable.
 */
export interface GatewayStatus {
  readonly version: string;
  /** The version of Node.js that runs it. */
  readonly node: string;
  readonly host: string;
  /** When this was collected. */
  readonly atMs: number;
  readonly startedAtMs: number;
  readonly uptimeSeconds: number;
  /** Why the gateway should get no traffic now; null when it should. */
  readonly notReady: string | null;
  /** The memory of the process with all caps full, compared with what it may use. */
  readonly memory: MemoryModel;
  /** The file descriptors with all caps full, compared with what the system allows. */
  readonly descriptors: DescriptorsModel;
  /** How many threads serve clients, and why `workers: auto` chose this number. */
  readonly workers: WorkersModel & {
    /** The workers, by number; none with a count of 1. */
    readonly each: readonly WorkerStatus[];
  };
  readonly configuration: {
    readonly generation: number;
    readonly hash: string;
    /** gateway.yaml, then the limits files. */
    readonly files: readonly string[];
    readonly sinceMs: number;
    /** The changes by the last reload in words, one per line: stricter ones first. */
    readonly lastChanges: readonly string[];
    /** How changes are noticed: by events and polling, by polling only, or not at all. */
    readonly reload: 'watch' | 'poll' | 'off';
    /** Changes that take effect after a restart. */
    readonly pendingRestart: readonly RestartKey[];
    /** A valid configuration that takes effect once its identity provider has answered. */
    readonly waiting: ReloadRecord['next'];
    readonly lastFailure: ReloadRecord['failure'];
    readonly reloads: ReloadRecord['reloads'];
  };
  readonly traffic: { readonly connections: number; readonly requestsInFlight: number };
  /** Senders that look like proxies but are missing from `trusted_proxies`. */
  readonly unlistedProxies: readonly UnlistedProxy[];
  /** Refusals by global limits that no limits file names. */
  readonly defaultRefusals: readonly DefaultRefusal[];
  /** The first of `providers`; null if none is configured. */
  readonly provider: ProviderStatus | null;
  /** The identity providers, in the order of the file. */
  readonly providers: readonly ProviderStatus[];
  readonly store: {
    readonly kind: string;
    /** `ok`, or a sentence. */
    readonly state: string;
    readonly keys: number;
    readonly evictions: number;
    readonly restrictions: number;
    /** True if this gateway serves but has not yet read the revocations and restrictions of other gateways since startup. */
    readonly behind: boolean;
  };
  /** The files of `state`; none if it is off. */
  readonly state: readonly StateFileStatus[];
  /** Log lines dropped since startup, and why none is being written. */
  readonly log: observe.LogLosses;
  /** Counts by bucket and class, in file order; the last, "none", is for requests without a bucket. */
  readonly buckets: readonly BucketStatus[];
  /** The buckets that limit a caller's requests in flight, and how many are at this gateway. */
  readonly concurrent: readonly BucketInFlight[];
  /** The callers near or past a limit; `null` if the client may not see them. */
  readonly callers: CallersStatus | null;
  /** The certificates that listeners serve. */
  readonly certificates: readonly observe.CertificateView[];
  readonly upstreams: readonly UpstreamStatus[];
  /** The last error of each kind, except those of upstreams, the latest first. */
  readonly errors: readonly observe.RecentError[];
}

export interface StateFileStatus extends Omit<observe.StateFileView, 'fault'> {
  /** Why it is out of date; `null` if it is not. */
  readonly cause: string | null;
  readonly sinceMs: number | null;
}

/** A worker, as `WorkerView` in the JSON of the status. */
export interface WorkerStatus extends Omit<observe.WorkerView, 'isUp' | 'loopDelayMs'> {
  readonly up: boolean;
  /** Averaged over a second; `null` if unknown. */
  readonly eventLoopDelayMs: number | null;
}

/** The state of a provider, with its revocations in the form of the status. */
export interface ProviderStatus extends Omit<ProviderFacts, 'revocations'> {
  /** Tokens that the provider or its users revoked. */
  readonly revocations: {
    /** The not-before time: tokens issued earlier are refused; null for none. */
    readonly notBeforeMs: number | null;
    /** The not-before time that the provider last pushed; null if none, or withdrawn. */
    readonly pushedNotBeforeMs: number | null;
    readonly subjects: number;
    readonly sessions: number;
    readonly keptForSeconds: number;
    /** The setting that determines `keptForSeconds`. */
    readonly keptBy: string;
    readonly outliveRestart: boolean;
  };
}

/** What limits decide about a bucket's callers of one class. */
export interface BucketStatus {
  readonly bucket: string;
  readonly class: string;
  readonly limits: readonly LimitStatus[];
  readonly lastMinute: observe.DecisionCounts;
  readonly lastHour: observe.DecisionCounts;
  /** Callers who consumed at least 80 % of a limit in the last minute. Counted up to a maximum. */
  readonly callersNearLimit: number;
}

export interface LimitStatus {
  readonly limit: 'global' | 'caller' | 'group' | 'resource' | 'concurrent';
  /** `10/5s`, and `90/day/cost` if it counts what requests cost; for `concurrent`: `4`. */
  readonly quota: string;
  /** `null` for `concurrent`. */
  readonly algorithm: 'window' | 'smooth' | null;
  /** The percentage of callers that it is enforced for; 0 in shadow. */
  readonly enforcedPercent: number;
}

export interface UpstreamStatus {
  readonly name: string;
  readonly address: string;
  readonly connections: number;
  readonly requestsInFlight: number;
  /** The errors of this upstream; `null` if there was none since startup. */
  readonly errors: Omit<observe.RecentError, 'kind'> | null;
  /** Its current addresses, the first hundred. None until a name was looked up. */
  readonly endpoints: readonly EndpointStatus[];
  readonly endpointCount: number;
  /** True if every endpoint is out, so that all of them are used. */
  readonly allEndpointsOut: boolean;
  /** Why the last lookup of a name found nothing; `null` if it did, or if there is no name. */
  readonly lookupFault: string | null;
}

/** The callers that are refused, or will be soon. */
export interface CallersStatus {
  /** Refused within the last hour; the most refused first. */
  readonly refusedMost: readonly RefusedCallerStatus[];
  readonly refusedNetworks: readonly RefusedNetwork[];
  /** Near a limit within the last minute. */
  readonly nearLimit: readonly CallerStatus[];
  /** The callers with the most requests in flight at this gateway, in buckets with `concurrent`. */
  readonly mostInFlight: readonly (CallerName & { readonly bucket: string; readonly inFlight: number })[];
  /** The first restrictions in force whose client is known by name. */
  readonly restrictions: readonly RestrictionStatus[];
  /**
   * Number of current restrictions that are not listed: there are too many, or other gateways made them for callers unknown here.
   */
  readonly unlistedRestrictions: number;
}

/** A caller as the log names it: by a pseudonym, or by its address. */
export type CallerName = { readonly caller: string } | { readonly address: string };

export type CallerStatus = CallerName &
  Pick<observe.TopCaller, 'bucket' | 'count' | 'maxCount' | 'sinceMs' | 'quota'> & {
    readonly class: string;
    readonly lastAtMs: number;
  };

export type RefusedCallerStatus = CallerStatus & {
  /** How many of `count` were refused by a restriction, or as blocked. */
  readonly restricted: number;
  /** The latest reason: the limit (`global`, `caller`, `resource`), the reason of a restriction, or `blocked`. */
  readonly why: string;
};

export type RestrictionStatus = CallerName & {
  readonly kind: 'address' | 'principal' | 'webhook';
  /** The key of its rule in limits.yaml. */
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number;
};

/** The status for programs: times become ISO 8601, under names without `Ms`. */
export function statusAsJson(status: GatewayStatus): string {
  return `${escapeInvisible(JSON.stringify(withDates(status), null, 2))}\n`;
}

function withDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDates);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isMoment = /(?:[aA]t|since|until|AsOf|notAfter|[nN]otBefore)Ms$/.test(name);
      if (!isMoment) return [name, withDates(member)];
      return [name.slice(0, -2), typeof member === 'number' ? isoTime(member) : null];
    }),
  );
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
