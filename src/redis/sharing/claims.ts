import { defineScript, RedisError, type RedisScript } from '../connection/index.ts';

export interface ClaimsDependencies {
  readonly connection: {
    readonly prefix: string;
    script(
      script: RedisScript,
      keys: readonly string[],
      ...args: readonly (string | number)[]
    ): Promise<unknown>;
  };
  readonly health: { readonly isShared: boolean; mention(error: RedisError): void };
}

const CLAIM = defineScript("return redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1])");

/** What one gateway of all may do once. While Redis is away, each gateway may. */
export class Claims {
  readonly #dependencies: ClaimsDependencies;

  constructor(dependencies: ClaimsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether no gateway has claimed this name for as long. */
  async claim(name: string, forMs: number): Promise<boolean> {
    const { connection, health } = this.#dependencies;
    if (!health.isShared) return true;
    try {
      const reply = await connection.script(
        CLAIM,
        [`${connection.prefix}notice:${name}`],
        Math.max(1, forMs),
      );
      return reply !== null;
    } catch (error) {
      health.mention(error instanceof RedisError ? error : new RedisError('error', String(error)));
      return true;
    }
  }
}
