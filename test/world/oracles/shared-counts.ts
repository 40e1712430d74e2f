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
import { Counter, type LimitRule } from './within-limits.ts';

interface LimitText {
  readonly role: string;
  readonly smooth: boolean;
  readonly units: number;
  readonly period: number;
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
    if (isRun(REFUND)) this.#lose();
    if (reply instanceof Failure) return;
    const nowMs = Math.floor(this.#redis.model.nowUs() / 1_000);
    const sender = this.#redis.senderOf(client);
    if (sender !== undefined) this.replicas.hear(sender, sent, reply);
    if (isRun(HOLD)) {
      const [mode, ...held] = rest.slice(keys.length);
      this.#leases.ran(mode ?? '', keys[0] ?? '', held, nowMs);
      if (mode === MODE.drop) for (const key of keys) this.#counters.get(key)?.reset();
    }
    const isRead = rest[keys.length + 1] === MODE.read;
    if (!isRun(DECIDE) || isRead || !Array.isArray(reply)) return;
    this.#decided.set(`${sender?.host} ${Number(reply[1])}`, this.#world.nowMs);
    this.#judge(keys, rest.slice(keys.length), reply.map(Number));
  }

  #judge(keys: readonly string[], args: readonly string[], reply: readonly number[]): void {
    const [plan = '[]', mode, , , , most, lease = ''] = args;
    const limits = JSON.parse(plan) as readonly LimitText[];
    const [code = 0, nowMs = 0, described = 0] = reply;
    const isFull = (code & REPLY.refusedAtOnce) !== 0;
    if (most !== undefined && ((code & REPLY.leased) !== 0 || isFull))
      this.#leases.decided(keys.at(-1) ?? '', Number(most), lease, nowMs, !isFull);
    if ((code & REPLY.admitted) === 0) {
      const limit = limits[described - 1];
      if (limit !== undefined && !isFull) this.#refuse(keys[described - 1] ?? '', limit, nowMs);
    } else if (mode === MODE.take)
      for (const [at, limit] of limits.entries()) this.#consume(keys[at] ?? '', limit, nowMs);
  }

  #refuse(key: string, limit: LimitText, nowMs: number): void {
    const counter = this.#counters.get(key) ?? new Counter();
    if (!counter.isLost(nowMs) && counter.admits(ruleOf(limit), nowMs, ROUNDING_MS))
      this.#world.wrong(
        'shared limits',
        `Redis refuses below ${limit.units} in ${limit.period} ms for ${key}`,
      );
  }

  /** Some of what Redis had counted is gone, and nobody knows which. */
  #lose(): void {
    for (const counter of this.#counters.values()) counter.lose();
  }

  #consume(key: string, limit: LimitText, nowMs: number): void {
    const { role, units, period } = limit;
    const rule = ruleOf(limit);
    const counter = this.#counters.get(key) ?? new Counter();
    this.#counters.set(key, counter);
    if (!counter.admits(rule, nowMs, 0))
      this.#world.wrong('shared limits', `Redis admits more than ${units} in ${period} ms for ${key}`);
    counter.consume(rule, nowMs);
    if (role === 'caller') this.admitted++;
  }
}

function ruleOf({ smooth, units, period }: LimitText): LimitRule {
  return { units, periodMs: period, algorithm: smooth ? 'smooth' : 'fixed' };
}

/** Where only Redis may admit, the service gets no more requests than Redis has admitted. */
export const onlyRedisAdmits: Oracle = world => {
  const { sharing, requests } = world;
  if (sharing === null || sharing.policy !== 'closed') return;
  const isLimited = ({ arrivals, path }: Asked) =>
    arrivals.length > 0 && (path.startsWith('/v1/things') || path.startsWith(`/${WORDS}/`));
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
