import type { RedisError, RedisScript, ReplyCallback } from '../connection/index.ts';

/** What the store needs of a connection. */
export interface ScriptRunner {
  readonly isCluster: boolean;
  readonly prefix: string;
  run(script: RedisScript, keys: readonly string[], args: readonly string[], reply: ReplyCallback): void;
}

/** What the store needs to know of Redis. */
export interface HealthView {
  readonly isShared: boolean;
  failed(error: RedisError): void;
}
