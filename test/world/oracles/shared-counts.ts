import type { RedisScript } from '../../../src/limits/redis/connection/index.ts';
import { DECIDE, HOLD, REFUND } from '../../../src/limits/redis/store/counter-scripts.ts';
import { MODE, REPLY } from '../../../src/limits/redis/store/script-words.ts';
import { WORDS } from '../inhabitants/grpc-service.ts';
import type { WorldRedis } from '../inhabitants/redis.ts';
import type { Sent } from '../redis/redis-model.ts';
import { Failure, type Reply } from '../redis/reply.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import { ReplicaCounts } from './replica-counts.ts';
import { SharedLeases } from './shared-leases.ts';
import { CalendarCounter, SOLD } from './sold-quotas.ts';
import { Counter, type LimitRule } from './within-limits.ts';

interface LimitText {
  readonly role: string;
  readonly smooth: boolean;
  readonly units: number;
  readonly period: number;
  /** When its windows end, if they are periods of the calendar. */
  readonly ends?: readonly number[];
  /** Whether a request draws one unit, whatever it costs. */
  readonly each?: true;
  /** Whether it counts prices. */
  readonly priced?: true;
}

/** Beyond that it is a script. */
const LONGEST = 1_000;
/** Redis counts whole milliseconds. */
const ROUNDING_MS = 2;

/**
 * Counts by a second hand what Redis admits and refuses, for all gateways together and at every reply, also of those that never arrive. What Redis
 * has lost may be admitted once more.
 */
export class SharedCounts {
  readonly #world: World;
  readonly #redis: WorldRedis;
  readonly #counters = new Map<string, Counter>();
  readonly #calendars = new Map<string, CalendarCounter>();
  readonly #leases: SharedLeases;
  /** When Redis has decided for a gateway, in true time, by its name and what the clock of Redis said. */
  readonly #decided = new Map<string, number>();
  readonly replicas: ReplicaCounts;
  /** All that anybody has told Redis, but for scripts. */
  readonly words = new Set<string>();
  /** How often Redis has admitted a request of a bucket. */
  admitted = 0;

  constructor(world: World, redis: WorldRedis) {
    this.#world = world;
    this.#redis = redis;
    this.#leases = new SharedLeases(world);
    this.replicas = new ReplicaCounts(world);
    redis.onLoss = () => {
      this.#lose();
      this.#leases.lose();
      this.replicas.lose();
    };
    redis.model.heard = (sent, reply) => this.#hear(sent, reply);
  }

  /** When Redis last made a decision of this moment of its clock for this gateway; `null`: never. */
  decidedMs(gateway: string, redisMs: number): number | null {
    return this.#decided.get(`${gateway} ${redisMs}`) ?? null;
  }

  #hear(sent: Sent, reply: Reply | undefined): void {
    const { name, args, client } = sent;
    for (const word of args) if (word.length < LONGEST) this.words.add(word);
    const [script, count, ...rest] = args;
    const isRun = ({ sha, source }: RedisScript) =>
      (name === 'evalsha' && script === sha) || (name === 'eval' && script === source);
    const keys = rest.slice(0, Number(count));
    if (reply instanceof Failure) return;
    const nowMs = Math.floor(this.#redis.model.nowUs() / 1_000);
    if (isRun(REFUND)) this.#refund(keys, rest.slice(keys.length), nowMs);
    const sender = this.#redis.senderOf(client);
    if (sender !== undefined) this.replicas.hear(sender, sent, reply);
    if (isRun(HOLD)) {
      const [mode, ...held] = rest.slice(keys.length);
      this.#leases.ran(mode ?? '', keys[0] ?? '', held, nowMs);
      if (mode === MODE.drop) for (const key of keys) this.#drop(key);
    }
    const isRead = rest[keys.length + 1] === MODE.read;
    if (!isRun(DECIDE) || isRead || !Array.isArray(reply)) return;
    this.#decided.set(`${sender?.host} ${Number(reply[1])}`, this.#world.nowMs);
    this.#judge(keys, rest.slice(keys.length), reply.map(Number));
  }

  #judge(keys: readonly string[], args: readonly string[], reply: readonly number[]): void {
    const [plan = '[]', mode, , , cost, most, lease = ''] = args;
    const limits = JSON.parse(plan) as readonly LimitText[];
    const [code = 0, nowMs = 0, described = 0] = reply;
    const isFull = (code & REPLY.refusedAtOnce) !== 0;
    if (most !== undefined && ((code & REPLY.leased) !== 0 || isFull))
      this.#leases.decided(keys.at(-1) ?? '', Number(most), lease, nowMs, !isFull);
    if ((code & REPLY.admitted) === 0) {
      const limit = limits[described - 1];
      const asked = { key: keys[described - 1] ?? '', nowMs, cost: Number(cost) };
      if (limit !== undefined && !isFull) this.#refuse(limit, asked);
    } else if (mode === MODE.take) {
      for (const [at, limit] of limits.entries())
        this.#consume(limit, { key: keys[at] ?? '', nowMs, cost: Number(cost) });
      if (limits.some(({ role }) => role === 'caller')) this.admitted++;
    }
  }

  #refuse(limit: LimitText, { key, nowMs, cost }: Asking): void {
    const counter = this.#counters.get(key) ?? new Counter();
    const isWrong =
      limit.ends === undefined
        ? !counter.isLost(nowMs) && counter.admits(ruleOf(limit), nowMs, ROUNDING_MS)
        : this.#calendarOf(key, limit).mustAdmit(limit.units, takenOf(limit, cost), nowMs, nowMs);
    if (isWrong)
      this.#world.wrong(
        'shared limits',
        `Redis refuses below ${limit.units} in ${limit.period} ms for ${key}`,
      );
  }

  /** Some of what Redis had counted is gone, and nobody knows which. */
  #lose(): void {
    for (const counter of this.#counters.values()) counter.lose();
    for (const counter of this.#calendars.values()) counter.lose();
  }

  #drop(key: string): void {
    this.#counters.get(key)?.reset();
    this.#calendars.get(key)?.reset(this.#world.nowMs, true);
  }

  #refund(keys: readonly string[], args: readonly string[], nowMs: number): void {
    const [plan = '[]', , cost, ...windows] = args;
    const limits = JSON.parse(plan) as readonly LimitText[];
    for (const [at, limit] of limits.entries()) {
      const key = keys[at] ?? '';
      const units = limit.priced === true ? Number(cost) : takenOf(limit, Number(cost));
      if (limit.ends === undefined) this.#counters.get(key)?.lose();
      else this.#calendarOf(key, limit).refund(Number(windows[at]), units, nowMs);
    }
  }

  #calendarOf(key: string, { period }: LimitText): CalendarCounter {
    const known = this.#calendars.get(key);
    const unit = period > WEEK_MS ? 'month' : period < WEEK_MS ? 'day' : 'week';
    const counter = known ?? new CalendarCounter(this.#world.night, unit);
    this.#calendars.set(key, counter);
    return counter;
  }

  #consume(limit: LimitText, { key, nowMs, cost }: Asking): void {
    const { units, period } = limit;
    if (limit.ends !== undefined) {
      const taken = takenOf(limit, cost);
      const counter = this.#calendarOf(key, limit);
      if (!counter.mayAdmit(units, taken, nowMs, nowMs))
        this.#world.wrong('shared limits', `Redis admits more than ${units} a period for ${key}`);
      const amount = { least: taken, most: taken };
      const draw = { atMs: nowMs, first: amount, last: amount, overMs: Number.NEGATIVE_INFINITY };
      counter.draw(draw, taken, { fewest: units, most: units }, nowMs);
      return;
    }
    const rule = ruleOf(limit);
    const counter = this.#counters.get(key) ?? new Counter();
    this.#counters.set(key, counter);
    if (!counter.admits(rule, nowMs, 0))
      this.#world.wrong('shared limits', `Redis admits more than ${units} in ${period} ms for ${key}`);
    counter.consume(rule, nowMs);
  }
}

/** A counter that Redis is asked about: when, and for a request of what cost. */
interface Asking {
  readonly key: string;
  readonly nowMs: number;
  readonly cost: number;
}

const WEEK_MS = 7 * 86_400_000;

function takenOf({ each, units }: LimitText, cost: number): number {
  return each === true ? 1 : Math.min(cost, units);
}

function ruleOf({ smooth, units, period }: LimitText): LimitRule {
  return { units, periodMs: period, algorithm: smooth ? 'smooth' : 'fixed' };
}

/** Where only Redis may admit, the service gets no more requests than Redis has admitted. */
export const onlyRedisAdmits: Oracle = world => {
  const { sharing, requests } = world;
  if (sharing === null || sharing.policy !== 'closed') return;
  const isLimited = ({ arrivals, path }: Asked) =>
    arrivals.length > 0 && (path.startsWith('/v1/things') || path === SOLD || path.startsWith(`/${WORDS}/`));
  const served = requests.all.filter(isLimited).length;
  if (served > sharing.counts.admitted)
    world.wrong(
      'shared limits',
      `${served} requests were served, and Redis admitted ${sharing.counts.admitted}`,
    );
};

/** When everybody has left, nothing of them is left in Redis, and no name of a key has ever told who a caller is. */
export const nothingLeft: Oracle = world => {
  if (world.sharing === null) return;
  const { model } = world.sharing.redis;
  const replicas = model.keys.get('weir:1:replicas');
  if (replicas !== undefined) world.wrong('replicas', 'a gateway that has left still counts in Redis');
  const told = [...world.sharing.counts.words].join('\n');
  for (const secret of world.secrets) if (told.includes(secret)) world.wrong('secrets', 'Redis was told one');
  const names = model.keys.names();
  const known = ['alice', 'bob', 'carol', ...world.wires.hosts.keys()];
  for (const name of names)
    for (const word of known)
      if (name.includes(word)) world.wrong('secrets', `the key ${name} tells who a caller is`);
};
