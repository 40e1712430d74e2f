import { createHash } from 'node:crypto';

/** A Lua script, which Redis caches under its hash. */
export interface RedisScript {
  readonly source: string;
  /** SHA-1 of the source, by which Redis finds it. */
  readonly sha: string;
}

export function defineScript(source: string): RedisScript {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}
