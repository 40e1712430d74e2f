import type { Clock } from '../../core/index.ts';
import { defineScript, type RedisConnection } from './redis-connection.ts';

/** A gateway without a heartbeat for this long is gone. */
const LIFETIME_MS = 10_000;

/** Registers this gateway and drops those that are gone. Writes, so it fails when decisions would. Returns { now, count }. */
const BEAT = defineScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local lifetime = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - lifetime))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + lifetime), '+inf')
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', lifetime))
return { now, redis.call('ZCARD', KEYS[1]) }
`);

export interface Beat {
  readonly roundTripMs: number;
  /** How far the clock of Redis is ahead of the gateway's. */
  readonly clockAheadMs: number;
}

/** Registers this gateway in Redis and counts the others there. */
export class Replicas {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #id: string;
  readonly #key: string;
  #count: number;
  #countedAtMs = Number.NEGATIVE_INFINITY;

  /** `id`: unique among all processes, past ones included. `hint`: the count to assume before the first heartbeat. */
  constructor(connection: RedisConnection, { clock, id, hint }: { clock: Clock; id: string; hint: number }) {
    this.#connection = connection;
    this.#clock = clock;
    this.#id = id;
    this.#key = `${connection.prefix}replicas`;
    this.#count = hint;
  }

  /** How many gateways share the limits, including this one. At least 1. */
  get count(): number {
    return this.#count;
  }

  /** Rejects with a RedisError. */
  async beat(): Promise<Beat> {
    const sentAtMs = this.#clock.monotonicMs();
    const reply = await this.#connection.script(BEAT, [this.#key], this.#id, LIFETIME_MS);
    const roundTripMs = this.#clock.monotonicMs() - sentAtMs;
    const [nowMs, count] = Array.isArray(reply) ? reply.map(Number) : [];
    if (nowMs === undefined || count === undefined)
      throw new Error('Redis gave an unexpected reply to the heartbeat script');
    this.#note(count);
    return { roundTripMs, clockAheadMs: nowMs + roundTripMs / 2 - this.#clock.epochMs() };
  }

  /** Removes this gateway from the count. */
  leave(): void {
    if (this.#connection.isReady) this.#connection.command('zrem', this.#key, this.#id).catch(() => {});
  }

  /** Accepts a smaller count only after a while: if Redis has lost its data, the others are yet to register again. */
  #note(count: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (count < this.#count && nowMs - this.#countedAtMs < LIFETIME_MS) return;
    this.#count = Math.max(1, count);
    this.#countedAtMs = nowMs;
  }
}
