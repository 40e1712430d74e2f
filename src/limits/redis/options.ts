import type { SecureContextOptions } from 'node:tls';

interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  /** The ACL user; `null` for the default user. */
  readonly user: string | null;
  /** The password; `null` if there is none. */
  readonly password: string | null;
}

export type RedisServers =
  | { readonly kind: 'standalone'; readonly address: RedisAddress; readonly database: number }
  | {
      readonly kind: 'sentinel';
      /** Sentinels to ask for the master, in this order. */
      readonly sentinels: readonly RedisAddress[];
      /** The master's name. */
      readonly master: string;
      readonly database: number;
      readonly credentials: Credentials;
    }
  /** Some nodes of the cluster; it names the others. */
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisAddress[] };

export interface RedisOptions {
  readonly servers: RedisServers;
  readonly credentials: Credentials;
  /** The TLS options, also for sentinels; `null` for plain TCP. */
  readonly tls: (SecureContextOptions & { readonly servername?: string }) | null;
  /**
   * The beginning of every key and channel, before the version of the format. Must not contain braces, which would set the
   * cluster slot. Default `weir:`.
   */
  readonly prefix: string;
  /** The time for one decision, including retries. Default 50. */
  readonly budgetMs: number;
}

/**
 * The version of what gateways keep in Redis: the names of keys and channels, and the meaning of their values. Part of every
 * name, and of every reply that numbers are read from, so that gateways with different formats never misread each other. Raise it
 * with any change that an older gateway would misread, and describe the effect on a rolling upgrade in UPGRADE.md.
 * `test/store/format.test.ts` detects such changes.
 */
export const FORMAT = 1;

/** The beginning of every key and channel. `prefix`: the operator's. */
export function formatPrefix(prefix: string): string {
  return `${prefix}${FORMAT}:`;
}
