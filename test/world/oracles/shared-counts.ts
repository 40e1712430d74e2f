import { DECIDE, DROP } from '../../../src/redis/store/counter-scripts.ts';
import type { WorldRedis } from '../inhabitants/redis.ts';
import type { Sent } from '../redis/redis-model.ts';
import type { Reply } from '../redis/reply.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import { Counter, type LimitRule } from './within-limits.ts';

interface LimitText {
  readonly role: string;
  readonly smooth: boolean;
  readonly units: number;
  readonly period: number;
}

/**
 * Counts by a second hand what Redis admits, for all gateways together and at every reply, also of those that never arrive. What Redis
 * has lost may be admitted once more.
 */
export class SharedCounts {
  readonly #world: World;
  readonly #counters = new Map<string, Counter>();
  /** How often Redis has admitted a request of the bucket. */
  admitted = 0;

  constructor(world: World, redis: WorldRedis) {
    this.#world = world;
    redis.onLoss = () => this.#lose();
    redis.model.heard = (sent, reply) => this.#hear(sent, reply);
  }

  #hear({ name, args }: Sent, reply: Reply | undefined): void {
    const [script, count, ...rest] = args;
    if (script === DROP.sha || script === DROP.source) this.#lose();
    const isDecision =
      (name === 'evalsha' && script === DECIDE.sha) || (name === 'eval' && script === DECIDE.source);
    if (!isDecision || !Array.isArray(reply)) return;
    const keys = rest.slice(0, Number(count));
    const [plan = '[]', , mode] = rest.slice(Number(count));
    const [code, nowMs] = reply.map(Number);
    if (mode === '0' || code === undefined || nowMs === undefined || (code & 1) === 0) return;
    for (const [at, limit] of (JSON.parse(plan) as readonly LimitText[]).entries())
      this.#consume(keys[at] ?? '', limit, nowMs);
  }

  /** Some of what Redis had counted is gone, and nobody knows which. */
  #lose(): void {
    for (const counter of this.#counters.values()) counter.lose();
  }

  #consume(key: string, { role, smooth, units, period }: LimitText, nowMs: number): void {
    const rule: LimitRule = { units, periodMs: period, algorithm: smooth ? 'smooth' : 'fixed' };
    const counter = this.#counters.get(key) ?? new Counter();
    this.#counters.set(key, counter);
    if (!counter.admits(rule, nowMs, 0))
      this.#world.wrong('shared limits', `Redis admits more than ${units} in ${period} ms for ${key}`);
    counter.consume(rule, nowMs);
    if (role === 'caller') this.admitted++;
  }
}

/** Where only Redis may admit, the service gets no more requests than Redis has admitted. */
export const onlyRedisAdmits: Oracle = world => {
  const { sharing, requests } = world;
  if (sharing === null || sharing.policy !== 'closed') return;
  const isLimited = ({ arrivals, path }: Asked) => arrivals.length > 0 && path.startsWith('/v1/things');
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
  const names = model.keys.names();
  const known = ['alice', 'bob', 'carol', ...world.wires.hosts.keys()];
  for (const name of names)
    for (const word of known)
      if (name.includes(word)) world.wrong('secrets', `the key ${name} tells who a caller is`);
};
