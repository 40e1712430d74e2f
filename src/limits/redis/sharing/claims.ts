import type { Claims, FailurePolicy } from '../../../core/index.ts';
import { defineScript, type Health, type RedisConnection, RedisError } from '../connection/index.ts';

interface RedisClaimsDependencies {
  readonly connection: Pick<RedisConnection, 'prefix' | 'script'>;
  readonly health: Pick<Health, 'isShared' | 'mention'>;
  /** Decides about proofs while Redis cannot be asked. */
  readonly policy: FailurePolicy;
}

const CLAIM = defineScript("return redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1])");

/** The first gateway writes its secret; each that looks prolongs it. */
const SECRET = defineScript(`
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('GET', KEYS[1])
`);
const SECRET_MS = 86_400_000;

/** Makes each notice and each proof of possession count once for all gateways, and their nonces valid at each of them. */
export class RedisClaims implements Claims {
  readonly #dependencies: RedisClaimsDependencies;

  constructor(dependencies: RedisClaimsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Claims a notice. While Redis cannot be asked, every gateway gets what it claims. */
  async claim(name: string, forMs: number): Promise<boolean> {
    return (await this.#ask('claim a notice', CLAIM, `notice:${name}`, Math.max(1, forMs))) !== null;
  }

  /** The same for a proof, but `unknown` while Redis cannot be asked if nothing may be admitted meanwhile. */
  async claimProof(name: string, forMs: number): Promise<boolean | 'unknown'> {
    const reply = await this.#ask('claim a proof', CLAIM, `proof:${name}`, Math.max(1, forMs));
    return reply === undefined && this.#dependencies.policy === 'closed' ? 'unknown' : reply !== null;
  }

  /** The secret that all gateways make nonces with, which is `own` if they have none yet; `null` while Redis cannot be asked. */
  async commonSecret(own: Buffer): Promise<Buffer | null> {
    const reply = await this.#ask('share a secret', SECRET, 'nonces', own.toString('base64url'), SECRET_MS);
    const secret = Buffer.from(typeof reply === 'string' ? reply : '', 'base64url');
    return secret.length === own.length ? secret : null;
  }

  /** Resolves to `undefined` if Redis does not answer. */
  async #ask(
    task: string,
    script: typeof CLAIM,
    key: string,
    ...args: (string | number)[]
  ): Promise<unknown> {
    const { connection, health } = this.#dependencies;
    if (!health.isShared) return undefined;
    try {
      return await connection.script(script, [connection.prefix + key], ...args);
    } catch (error) {
      health.mention(RedisError.of(error), task);
      return undefined;
    }
  }
}
