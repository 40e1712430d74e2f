import type { SecureContextOptions } from 'node:tls';

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface Credentials {
  /** ACL user; null: the default user. */
  readonly user: string | null;
  /** Null: none. */
  readonly password: string | null;
}

/** Where Redis is. */
export type RedisServers =
  | { readonly kind: 'standalone'; readonly address: RedisAddress; readonly database: number }
  | {
      readonly kind: 'sentinel';
      /** Sentinels that are asked in this order who the master is. */
      readonly sentinels: readonly RedisAddress[];
      /** The master's name. */
      readonly master: string;
      readonly database: number;
      readonly credentials: Credentials;
    }
  /** Nodes to learn the cluster from; the rest follows. */
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisAddress[] };

export interface RedisOptions {
  readonly servers: RedisServers;
  readonly credentials: Credentials;
  /** Null: plain TCP. Holds for sentinels too. */
  readonly tls: (SecureContextOptions & { readonly servername?: string }) | null;
  /** Begins every key and channel. Holds no braces: they mean the slot of a cluster. Default `weir:`. */
  readonly prefix: string;
  /** For one decision in all, its retries included. Default 50. */
  readonly budgetMs: number;
}

/**
 * What decides while Redis does not:
 * - `local`: counters of this process, with the quota divided by the number of replicas
 * - `open`: nothing, every request passes
 * - `closed`: nothing, every request is refused (503)
 */
export type FailurePolicy = 'local' | 'open' | 'closed';
