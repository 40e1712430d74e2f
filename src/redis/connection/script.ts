import { createHash } from 'node:crypto';

/** A Lua script that Redis keeps by its hash. */
export interface RedisScript {
  readonly source: string;
  /** SHA-1 of the source, as Redis names it. */
  readonly sha: string;
}

export function defineScript(source: string): RedisScript {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}
