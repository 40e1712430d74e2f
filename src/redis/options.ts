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

/** Says where Redis is. */
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
  /** The options of TLS, for sentinels too; `null` for plain TCP. */
  readonly tls: (SecureContextOptions & { readonly servername?: string }) | null;
  /** Begins every key and channel, before the version of the format. Must not contain braces, which would set the cluster slot. Default `weir:`. */
  readonly prefix: string;
  /** The time for one decision, retries included. Default 50. */
  readonly budgetMs: number;
}

/**
 * The version of what gateways keep in Redis: the names of keys and channels, and what their values mean. Part of every name, so
 * that gateways of two formats never misread each other. Raise it with any change that an older gateway would misread, and say in
 * UPGRADE.md what that means for a rolling upgrade. `test/store/format.test.ts` notices such a change.
 */
export const FORMAT = 1;

/** How every key and channel begins. `prefix`: the operator's. */
export function formatPrefix(prefix: string): string {
  return `${prefix}${FORMAT}:`;
}
