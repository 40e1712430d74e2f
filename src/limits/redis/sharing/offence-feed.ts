import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Timer, TimerClock } from '../../../core/index.ts';
import type { OffenceFeed, OffenceRule, OffencesExceeded, Restricted } from '../../index.ts';
import { digestOfWhom } from '../../index.ts';
import type { Health, RedisConnection, RedisScript } from '../connection/index.ts';
import { defineScript, RedisError } from '../connection/index.ts';

export interface RedisOffenceFeedDependencies {
  readonly connection: FeedConnection;
  readonly health: Pick<Health, 'isShared' | 'mention'>;
  readonly clock: TimerClock;
  readonly exceeded: OffencesExceeded;
}

type FeedConnection = Pick<RedisConnection, 'prefix' | 'script'>;

const FLUSH_MS = 250;
/** Maximum offenders queued. */
const MAX_PENDING = 10_000;
/** Offenders in one batch: at most 4,000 commands per second. */
const BATCH = 1_000;
/** Commands sent at once: few enough for the last reply to arrive in time. */
const PORTION = 100;

interface Pending {
  readonly offence: Restricted;
  readonly rule: OffenceRule;
  /** When the first offence was counted. */
  readonly sinceMs: number;
  events: number;
}

/**
 * Adds up one client's offences across all gateways, with rate-limiter-flexible's counters in Redis. Sends them in batches a few
 * times a second, one command per offender, so that counting one costs no round trip. While Redis is unreachable, each gateway
 * counts on its own.
 */
export class RedisOffenceFeed implements OffenceFeed {
  readonly #dependencies: RedisOffenceFeedDependencies;
  readonly #pending = new Map<string, Pending>();
  readonly #limiters = new Map<string, RateLimiterRedis>();
  #timer: Timer | null = null;
  #flushing = false;
  #left = 0;

  constructor(dependencies: RedisOffenceFeedDependencies) {
    this.#dependencies = dependencies;
  }

  get left(): number {
    return this.#left;
  }

  note(offence: Restricted, rule: OffenceRule): void {
    const key = keyOf(offence);
    const nowMs = this.#dependencies.clock.monotonicMs();
    const pending = this.#pending.get(key);
    if (pending !== undefined && nowMs - pending.sinceMs < rule.quota.periodMs) pending.events++;
    else if (pending === undefined && this.#pending.size >= MAX_PENDING) this.#left++;
    else this.#pending.set(key, { offence, rule, sinceMs: nowMs, events: 1 });
  }

  forget(offence: Restricted, rule: OffenceRule): void {
    this.#pending.delete(keyOf(offence));
    if (!this.#dependencies.health.isShared) return;
    this.#limiterOf(offence, rule)
      .delete(digestOfWhom(offence))
      .catch((error: unknown) => this.#dependencies.health.mention(RedisError.of(error), 'forget offences'));
  }

  start(): void {
    this.#timer = this.#dependencies.clock.every(FLUSH_MS, () => void this.flush());
  }

  stop(): void {
    this.#dependencies.clock.cancel(this.#timer);
  }

  /** Sends a batch; done regularly once started. Never rejects. */
  async flush(): Promise<void> {
    if (this.#flushing || !this.#dependencies.health.isShared) return;
    this.#flushing = true;
    const batch = this.#takeBatch();
    let at = 0;
    while (at < batch.length && this.#dependencies.health.isShared) {
      await Promise.all(batch.slice(at, at + PORTION).map(pending => this.#send(pending)));
      at += PORTION;
    }
    for (const pending of batch.slice(at)) this.#putBack(pending);
    this.#flushing = false;
  }

  /** Takes the worst offenders first if there are too many. */
  #takeBatch(): readonly Pending[] {
    let all = [...this.#pending.values()];
    this.#pending.clear();
    const nowMs = this.#dependencies.clock.monotonicMs();
    all = all.filter(({ sinceMs, rule }) => nowMs - sinceMs < rule.quota.periodMs);
    if (all.length <= BATCH) return all;
    all.sort((a, b) => b.events - a.events);
    for (const pending of all.slice(BATCH)) this.#putBack(pending);
    return all.slice(0, BATCH);
  }

  #putBack(pending: Pending): void {
    const { offence } = pending;
    const key = keyOf(offence);
    const newer = this.#pending.get(key);
    this.#pending.set(key, { ...pending, events: pending.events + (newer?.events ?? 0) });
  }

  async #send(pending: Pending): Promise<void> {
    const { offence, rule, events } = pending;
    const { health, exceeded } = this.#dependencies;
    try {
      const key = digestOfWhom(offence);
      const { consumedPoints } = await this.#limiterOf(offence, rule).penalty(key, events);
      if (consumedPoints > rule.quota.units) exceeded(offence, rule);
    } catch (error) {
      const failure = RedisError.of(error);
      health.mention(failure, 'count offences');
      // Not after a timeout, when Redis may have counted it.
      if (failure.failure === 'disconnected') this.#putBack(pending);
    }
  }

  /** Windows begin with the first offence, as in this process. Each limiter has one window length. */
  #limiterOf({ reason }: Restricted, { quota }: OffenceRule): RateLimiterRedis {
    const name = `${reason}:${quota.periodMs}`;
    let limiter = this.#limiters.get(name);
    if (limiter === undefined) {
      limiter = new RateLimiterRedis({
        storeClient: clientOf(this.#dependencies.connection),
        keyPrefix: `${this.#dependencies.connection.prefix}${name}`,
        points: quota.units,
        duration: quota.periodMs / 1_000,
      });
      this.#limiters.set(name, limiter);
    }
    return limiter;
  }
}

function keyOf({ reason, key, webhook }: Restricted): string {
  return `${reason} ${key} ${webhook}`;
}

const DELETE = defineScript("return redis.call('DEL', KEYS[1])");

/**
 * The three functions of ioredis that a limiter needs, on top of our connection, so that its budget, script hashes and errors
 * apply to these commands as well.
 */
function clientOf(connection: FeedConnection) {
  let script: RedisScript | null = null;
  return {
    defineCommand(_name: string, { lua }: { readonly lua: string }): void {
      script = defineScript(lua);
    },
    rlflxIncr([key = '', ...args]: readonly string[]): Promise<unknown> {
      if (script === null) throw new Error('the limiter has defined no script');
      return connection.script(script, [key], ...args);
    },
    del(key: string): Promise<unknown> {
      return connection.script(DELETE, [key]);
    },
  };
}
