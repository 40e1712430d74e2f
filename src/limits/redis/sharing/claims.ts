import type { Claims } from '../../../core/index.ts';
import { defineScript, type Health, type RedisConnection, RedisError } from '../connection/index.ts';

interface RedisClaimsDependencies {
  readonly connection: Pick<RedisConnection, 'prefix' | 'script'>;
  readonly health: Pick<Health, 'isShared' | 'mention'>;
}

const CLAIM = defineScript("return redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1])");

/** Keeps claims in Redis. While Redis is unavailable, every gateway gets what it claims. */
export class RedisClaims implements Claims {
  readonly #dependencies: RedisClaimsDependencies;

  constructor(dependencies: RedisClaimsDependencies) {
    this.#dependencies = dependencies;
  }

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
      health.mention(RedisError.of(error), 'claim a notice');
      return true;
    }
  }
}
