import {
  type RedisConnection,
  RedisError,
  type RedisScript,
  type ReplyCallback,
} from '../../src/limits/redis/connection/index.ts';
import { bytesOfCommand } from '../world/redis/both-redis.ts';
import { RedisModel, type Session } from '../world/redis/redis-model.ts';
import { Failure, type Reply } from '../world/redis/reply.ts';

/** Runs the scripts on the model of Redis, at a moment that the test chooses. */
export class ModelRunner implements Pick<RedisConnection, 'isCluster' | 'prefix' | 'run'> {
  readonly isCluster = false;
  readonly prefix = '';
  nowMs = 0;
  readonly #session: Session;
  #reply: Reply | undefined;

  constructor() {
    const model = new RedisModel(() => 1_000 * this.nowMs);
    model.heard = (_sent, reply) => {
      this.#reply = reply;
    };
    this.#session = model.accept({ send() {}, close() {} });
  }

  run({ source }: RedisScript, keys: readonly string[], args: readonly string[], reply: ReplyCallback): void {
    this.#session.receive(bytesOfCommand(['eval', source, keys.length, ...keys, ...args]));
    const value = this.#reply;
    queueMicrotask(() => {
      if (value instanceof Failure) reply(new RedisError('error', value.text), null);
      else reply(null, value);
    });
  }
}
