import type { UnlistedProxy } from '../core/index.ts';

/** Moments are milliseconds since the epoch. */
export interface GatewayStatus {
  readonly startedAtMs: number;
  /** Why the gateway should get no traffic now; null when it should. */
  readonly notReady: string | null;
  readonly configuration: {
    readonly generation: number;
    readonly hash: string;
    readonly sinceMs: number;
    /** How changes are noticed: by events and by looking now and then; by looking alone; not at all. */
    readonly reload: 'watch' | 'poll' | 'off';
    /** Changed, and in effect after a restart. */
    readonly pendingRestart: readonly {
      readonly key: string;
      readonly running: string;
      readonly wanted: string;
    }[];
    /** Release, and in effect when its identity provider has answered. */
    readonly waiting: {
      readonly generation: number;
      readonly hash: string;
      readonly sinceMs: number;
    } | null;
    /** The last state of the files that was refused; `mended`: they have been good since. */
    readonly lastFailure: {
      readonly atMs: number;
      readonly problems: readonly string[];
      readonly mended: boolean;
    } | null;
  };
  readonly traffic: { readonly connections: number; readonly requestsInFlight: number };
  /** Senders that look like proxies in front, and that `trusted_proxies` does not list. */
  readonly unlistedProxies: readonly UnlistedProxy[];
  /** Null: none is configured. */
  readonly provider: {
    readonly issuer: string;
    readonly endpointsKnown: boolean;
    readonly keys: number;
    readonly keysAsOfMs: number | null;
  } | null;
  readonly store: {
    readonly kind: string;
    /** In a word or a sentence: `ok`. */
    readonly state: string;
    readonly keys: number;
    readonly evictions: number;
    readonly restrictions: number;
  };
  readonly upstreams: readonly {
    readonly name: string;
    readonly address: string;
    readonly connections: number;
    readonly requestsInFlight: number;
  }[];
}

/** For programs: the same members, with moments as ISO 8601 under names without `Ms`. */
export function statusAsJson(status: GatewayStatus): string {
  return `${JSON.stringify(withDates(status), null, 2)}\n`;
}

function withDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDates);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isMoment = /(?:[aA]t|since|AsOf)Ms$/.test(name);
      if (!isMoment) return [name, withDates(member)];
      return [name.slice(0, -2), typeof member === 'number' ? isoTime(member) : null];
    }),
  );
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
