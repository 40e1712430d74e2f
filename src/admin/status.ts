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
    /** How changes are noticed: by events and polling, by polling alone, or not at all. */
    readonly reload: 'watch' | 'poll' | 'off';
    /** Changes that take effect after a restart. */
    readonly pendingRestart: readonly {
      readonly key: string;
      readonly running: string;
      readonly wanted: string;
    }[];
    /** A valid configuration that takes effect once its identity provider has answered. */
    readonly waiting: {
      readonly generation: number;
      readonly hash: string;
      readonly sinceMs: number;
    } | null;
    /** The last refused state of the files; `mended`: they have been valid since. */
    readonly lastFailure: {
      readonly atMs: number;
      readonly errors: readonly string[];
      readonly mended: boolean;
    } | null;
  };
  readonly traffic: { readonly connections: number; readonly requestsInFlight: number };
  /** Senders that look like proxies but are missing in `trusted_proxies`. */
  readonly unlistedProxies: readonly UnlistedProxy[];
  /** Null: not configured. */
  readonly provider: {
    readonly issuer: string;
    readonly endpointsKnown: boolean;
    readonly keys: number;
    readonly keysAsOfMs: number | null;
  } | null;
  readonly store: {
    readonly kind: string;
    /** `ok`, or a sentence. */
    readonly state: string;
    readonly keys: number;
    readonly evictions: number;
    readonly restrictions: number;
  };
  /** Those that listeners serve. */
  readonly certificates: readonly {
    readonly listener: string;
    /** Its file, as it is configured. */
    readonly certificate: string;
    readonly notAfterMs: number;
  }[];
  readonly upstreams: readonly {
    readonly name: string;
    readonly address: string;
    readonly connections: number;
    readonly requestsInFlight: number;
  }[];
}

/** The status for programs: moments become ISO 8601, under names without `Ms`. */
export function statusAsJson(status: GatewayStatus): string {
  return `${JSON.stringify(withDates(status), null, 2)}\n`;
}

function withDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDates);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isMoment = /(?:[aA]t|since|AsOf|notAfter)Ms$/.test(name);
      if (!isMoment) return [name, withDates(member)];
      return [name.slice(0, -2), typeof member === 'number' ? isoTime(member) : null];
    }),
  );
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
