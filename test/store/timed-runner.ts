import type { Redis } from 'ioredis';
import {
  defineScript,
  type RedisConnection,
  RedisError,
  type RedisScript,
  type ReplyCallback,
} from '../../src/limits/redis/connection/index.ts';

const CLOCK = "redis.call('TIME')";
/** Keys live so much longer than the scripts say: they would end by the server's clock, while the moment of the test stands still. */
export const LONGER_MS = 3_600_000;
const SPAN = /('PX', |'PEXPIRE', \w+, )/g;
const REST = /redis\.call\('PTTL', \w+\)/g;

/**
 * Runs the scripts on a real server at a moment that the test chooses: what they read from Redis' clock they are told instead, and
 * keys end when the test says (`expire`).
 * Nothing in the scripts themselves knows of it.
 */
export class TimedRunner implements Pick<RedisConnection, 'isCluster' | 'prefix' | 'run'> {
  readonly isCluster: boolean;
  readonly prefix: string;
  nowMs = 0;
  readonly client: Redis;
  readonly #scripts = new Map<string, RedisScript>();

  constructor(client: Redis, prefix: string, isCluster: boolean) {
    this.client = client;
    this.prefix = prefix;
    this.isCluster = isCluster;
  }

  /** To be called with every script before it is run. */
  async load(script: RedisScript): Promise<void> {
    if (script.source.split(CLOCK).length > 2) throw new Error('the script reads the clock twice');
    const now = '{ math.floor(ARGV[#ARGV] / 1000), (ARGV[#ARGV] % 1000) * 1000 }';
    const told = `local telling = ${now}\nARGV[#ARGV] = nil\n${script.source.replace(CLOCK, 'telling').replace(SPAN, `$1${LONGER_MS} + `).replace(REST, `($& - ${LONGER_MS})`)}`;
    const timed = defineScript(told);
    this.#scripts.set(script.sha, timed);
    await this.client.script('LOAD', timed.source);
  }

  /** Deletes the windows that are over, as Redis does once the time that the test tells has passed. */
  async expire(): Promise<void> {
    for (const key of await this.client.keys(`${this.prefix}*`)) {
      if ((await this.client.type(key)) !== 'string') continue;
      const [resetMs = ''] = (await this.client.get(key))?.split(' ') ?? [];
      if (Number(resetMs) <= this.nowMs) await this.client.del(key);
    }
  }

  run({ sha }: RedisScript, keys: readonly string[], args: readonly string[], reply: ReplyCallback): void {
    const timed = this.#scripts.get(sha);
    if (timed === undefined) throw new Error('a script that was not loaded');
    this.client.evalsha(timed.sha, keys.length, ...keys, ...args, this.nowMs).then(
      value => reply(null, value),
      (error: Error) => reply(new RedisError('error', error.message), null),
    );
  }
}
