import type { Clock, FailurePolicy, StoreListener, Timer, TimerClock } from '../../../core/index.ts';
import { hasCode, SOME_SLOTS } from './error-codes.ts';
import { defineScript, PROBED_TAGS, type RedisConnection, RedisError } from './redis-connection.ts';
import { REPLY_FORMAT, readNumbers, unexpectedReply } from './replies.ts';
import { missingRightsAt } from './rights.ts';

/**
 * After this many failures within this time, the policy takes over and Redis is no longer asked. A late reply is not a failure:
 * the policy takes over if none comes, or most of them are late (`isLate`).
 */
const SEVERAL = 3;
const WITHIN_MS = 1_000;
/** Minimum time under the policy: switching back and forth would cost more than it gains. */
const STAY_MS = 1_000;
/** Good probes in a row that show that Redis is no longer slow; twice as many each time that it was slow again within a minute. */
const PROOFS = 4;
const MAX_PROOFS = 64;
const AGAIN_MS = 60_000;
const PROBE_MS = 250;
const BEAT_MS = 1_000;

export interface HealthDependencies {
  readonly connection: Pick<
    RedisConnection,
    'prefix' | 'isCluster' | 'isReady' | 'isLate' | 'lastError' | 'hurry' | 'onState' | 'script'
  >;
  readonly replicas: Pick<Replicas, 'beat' | 'count'>;
  readonly policy: FailurePolicy;
  readonly clock: TimerClock;
  readonly listener: StoreListener;
}

/**
 * Tracks whether Redis decides. A single failure is handled where it happens; after several, or if replies are late, the policy
 * decides without asking Redis, so that no request waits for a server that is down, and probes detect its return. The policy also
 * decides until the first successful probe.
 */
export class Health {
  readonly #dependencies: HealthDependencies;
  readonly #failures: number[] = [];
  #lostAtMs: number;
  #foundAtMs: number;
  /** How many good probes in a row end the outage, and how many there were. */
  #proofs = 1;
  #good = 0;
  readonly #onFound: (() => void)[] = [];
  #everFound = false;
  #isShared = false;
  #lastCause = 'not reached yet';
  #missingRights: readonly string[] = [];
  #timer: Timer | null = null;
  #stopped = false;

  constructor(dependencies: HealthDependencies) {
    this.#dependencies = dependencies;
    this.#lostAtMs = dependencies.clock.monotonicMs();
    this.#foundAtMs = this.#lostAtMs;
    dependencies.connection.onState(ready => {
      if (ready && !this.#isShared) this.#next(0);
    });
  }

  /** True while Redis decides, false while the policy does. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** Why Redis was last found unavailable, so that `on_failure` decided. */
  get lastCause(): string {
    return this.#lastCause;
  }

  /** The commands that Redis refuses this gateway's user, as far as a probe can tell. */
  get missingRights(): readonly string[] {
    return this.#missingRights;
  }

  /** Registers a callback for whenever Redis takes over again. */
  onFound(listener: () => void): void {
    this.#onFound.push(listener);
  }

  start(): void {
    this.#lostAtMs = this.#dependencies.clock.monotonicMs();
    // Sooner if the connection is made before.
    this.#next(PROBE_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#dependencies.clock.cancel(this.#timer);
  }

  /** Ends the wait for Redis at startup, and reports that the `on_failure` policy decides until Redis is available. */
  giveUpWaiting(): void {
    if (this.#everFound || this.#isShared) return;
    this.#everFound = true;
    this.#dependencies.listener.lost(this.#dependencies.policy, this.#lastCause);
  }

  failed(error: RedisError): void {
    const { clock, listener } = this.#dependencies;
    this.#lastCause = error.message;
    listener.failed(error.failure, error.message);
    // A slot that is being moved concerns few callers. The others stay with Redis.
    const isOfSomeSlots = hasCode(error, SOME_SLOTS) || error.message.includes('Hash slot not served');
    if (!this.#isShared || isOfSomeSlots) return;
    const nowMs = clock.monotonicMs();
    if (error.failure === 'timeout') {
      const { isLate } = this.#dependencies.connection;
      if (isLate !== false) this.#lose(nowMs, isLate === 'slow');
      return;
    }
    this.#failures.push(nowMs);
    if (this.#failures.length > SEVERAL) this.#failures.shift();
    const [first = nowMs] = this.#failures;
    if (this.#failures.length === SEVERAL && nowMs - first <= WITHIN_MS) this.#lose(nowMs);
  }

  /** Another thread of this process has lost Redis: the policy decides here as well, until a probe succeeds. */
  lostElsewhere(): void {
    if (this.#isShared) this.#lose(this.#dependencies.clock.monotonicMs());
  }

  /**
   * Reports a failure that no decision depends on. Only heartbeats and decisions affect the health of Redis.
   *
   * @param task what Redis was to do, such as `return units`
   */
  mention(error: RedisError, task: string): void {
    const { listener } = this.#dependencies;
    listener.failed(error.failure, error.message);
    if (error.failure === 'error') listener.taskFailed(task, error.message);
  }

  #lose(nowMs: number, isSlow = false): void {
    const again = nowMs - this.#foundAtMs < AGAIN_MS;
    if (isSlow) this.#proofs = again ? Math.min(MAX_PROOFS, Math.max(PROOFS, 2 * this.#proofs)) : PROOFS;
    else if (!again) this.#proofs = 1;
    this.#good = 0;
    this.#isShared = false;
    this.#lostAtMs = nowMs;
    this.#failures.length = 0;
    this.#dependencies.listener.lost(this.#dependencies.policy, this.#lastCause);
    this.#next(PROBE_MS);
  }

  #find(nowMs: number): void {
    this.#isShared = true;
    this.#foundAtMs = nowMs;
    this.#dependencies.listener.found(this.#everFound ? nowMs - this.#lostAtMs : 0);
    this.#everFound = true;
    for (const found of this.#onFound) found();
  }

  #next(afterMs: number): void {
    this.#dependencies.clock.cancel(this.#timer);
    if (!this.#stopped) this.#timer = this.#dependencies.clock.after(afterMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    this.#timer = null;
    let good = false;
    try {
      await this.#probe();
      good = true;
    } catch (error) {
      this.failed(RedisError.of(error));
    }
    // Another probe was scheduled meanwhile.
    if (this.#timer !== null) return;
    this.#good = good ? this.#good + 1 : 0;
    const nowMs = this.#dependencies.clock.monotonicMs();
    const stayed = !this.#everFound || nowMs - this.#lostAtMs >= STAY_MS;
    const isProven = stayed && this.#good >= this.#proofs;
    if (good && !this.#isShared && isProven && !this.#stopped) this.#find(nowMs);
    this.#next(good && this.#isShared ? BEAT_MS : PROBE_MS);
  }

  #noteRights(missing: readonly string[]): void {
    if (missing.join() === this.#missingRights.join()) return;
    this.#missingRights = missing;
    this.#dependencies.listener.rightsMissing(missing);
  }

  /**
   * Sends a heartbeat. After an outage also tries all commands, at every node of a cluster: one missing node would fail some requests.
   */
  async #probe(): Promise<void> {
    const { connection, replicas, listener } = this.#dependencies;
    connection.hurry();
    if (!connection.isReady) throw new RedisError('disconnected', connection.lastError);
    if (!this.#isShared) {
      const tags = connection.isCluster ? PROBED_TAGS : PROBED_TAGS.slice(0, 1);
      const missing = await Promise.all(tags.map(tag => missingRightsAt(connection, tag)));
      this.#noteRights([...new Set(missing.flat())].map(name => name.toLowerCase()));
    }
    const { roundTripMs, clockAheadMs } = await replicas.beat();
    listener.beat(roundTripMs, clockAheadMs, replicas.count);
  }
}

/** A gateway without a heartbeat for this long counts as gone. */
const LIFETIME_MS = 10_000;

/**
 * Registers this gateway and drops those that are gone. Writes, so it fails if decisions would: when its memory is full, Redis
 * refuses only the first write of a script, and only one that takes memory. Returns { REPLY_FORMAT, now, count }.
 */
const BEAT = defineScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local lifetime = tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - lifetime))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + lifetime), '+inf')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', lifetime))
return { ${REPLY_FORMAT}, now, redis.call('ZCARD', KEYS[1]) }
`);

interface Beat {
  readonly roundTripMs: number;
  /** How far Redis' clock is ahead of the gateway's. */
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
    const numbers = readNumbers(reply, 'heartbeat');
    if (numbers instanceof RedisError) throw numbers;
    const [, nowMs, count] = numbers;
    if (nowMs === undefined || count === undefined) throw unexpectedReply('heartbeat');
    this.#note(count);
    return { roundTripMs, clockAheadMs: nowMs + roundTripMs / 2 - this.#clock.epochMs() };
  }

  /** Removes this gateway from the count. */
  leave(): void {
    if (this.#connection.isReady) this.#connection.command('zrem', this.#key, this.#id).catch(() => {});
  }

  /** Accepts a smaller count only after a while: if Redis has lost its data, the other gateways first have to register again. */
  #note(count: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (count < this.#count && nowMs - this.#countedAtMs < LIFETIME_MS) return;
    this.#count = Math.max(1, count);
    this.#countedAtMs = nowMs;
  }
}
