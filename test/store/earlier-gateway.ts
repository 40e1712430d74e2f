import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  groupCounterKey,
  isSharedRole,
  LIMIT_ROLES,
  type Limit,
  type LimitSet,
  type LimitsByRole,
  OTHER_PARTS,
} from '../../src/limits/index.ts';
import { defineScript, type RedisScript, replyTo } from '../../src/limits/redis/connection/index.ts';
import { Keys } from '../../src/limits/redis/store/keys.ts';
import type { TimedRunner } from './timed-runner.ts';

/** The scripts of the version before this one, word for word but for comments. */
const [DECIDE, NOTE_OPENED, REFUND] = ['decide', 'note-opened', 'refund'].map(name =>
  defineScript(readFileSync(join(import.meta.dirname, `earlier-scripts/${name}.lua`), 'utf8')),
) as [RedisScript, RedisScript, RedisScript];

/** Its name for a step. */
interface Trip {
  readonly limits: readonly Limit[];
  readonly text: string;
}

interface Asked {
  readonly caller: string;
  readonly main: string;
  readonly group: string;
  readonly cost: number;
}

interface Lease {
  readonly key: string;
  readonly id: string;
  readonly most: number;
  readonly inShadow: boolean;
}

interface EarlierDecision {
  readonly admitted: boolean;
  /** Ends the lease of the request. */
  readonly leave: () => Promise<void>;
}

type Reply = readonly number[];

/** Of the first number of a reply. */
const [ADMITTED, OPENED, TAKEN] = [1, 256, 2_048];
const KEYS_PER_CALLER = 4_096;
const LEASE_MS = 30_000;

/**
 * A gateway of the version before this one, as far as Redis can tell: it sends the scripts and the arguments of that version, in a
 * cluster in several trips. It knows no refusals.
 */
export class EarlierGateway {
  readonly #runner: TimedRunner;
  readonly #keys: Keys;
  readonly #held = new Set<Lease>();
  #asked = 0;

  constructor(runner: TimedRunner) {
    this.#runner = runner;
    this.#keys = new Keys(runner.prefix);
  }

  static async load(runner: TimedRunner): Promise<void> {
    for (const script of [DECIDE, NOTE_OPENED, REFUND]) await runner.load(script);
  }

  async renewLeases(): Promise<void> {
    for (const { key, id } of this.#held)
      await this.#runner.client.zadd(key, this.#runner.nowMs + LEASE_MS, id);
  }

  async decide(set: LimitSet, ...[caller, main, group = '', cost = 1]: Words): Promise<EarlierDecision> {
    const asked = { caller: this.#keys.caller(caller), main, group, cost };
    const lease = this.#leaseFor(set, asked);
    const { isCluster } = this.#runner;
    const own = tripOf(set, role => !isCluster || !isSharedRole(role));
    const taken = [{ trip: own, reply: await this.#ask(own, asked, isCluster ? '1' : '0', lease) }];
    for (const trip of isCluster ? sharedTripsOf(set) : [])
      if (isAdmitted(taken.at(-1)?.reply))
        taken.push({ trip, reply: await this.#ask(trip, asked, '2', null) });
    const admitted = isAdmitted(taken.at(-1)?.reply);
    if (lease !== null && ((taken[0]?.reply[0] ?? 0) & TAKEN) !== 0) this.#held.add(lease);
    for (const { trip, reply } of admitted ? taken : taken.slice(0, -1)) {
      if (!admitted) await this.#undo(trip, asked, reply, trip === own);
      else if (main !== '' && ((reply[0] ?? 0) & OPENED) !== 0) await this.#noteOpened(trip, asked, reply);
    }
    const leave = () => this.#end(lease);
    if (!admitted) await leave();
    return { admitted, leave };
  }

  async refund(
    limit: Limit,
    part: string,
    window: number,
    cost: number,
    owner: string | null,
  ): Promise<void> {
    const args = [textOf([limit], 1), String(window), 'refund', String(cost)];
    await this.#run(REFUND, [this.#counterKey(limit, part, owner)], args);
  }

  #counterKey(limit: Limit, part: string, owner: string | null): string {
    if (owner === null || (isSharedRole(limit.role) && part !== OTHER_PARTS))
      return this.#keys.shared(limit, part);
    const caller = this.#keys.caller(owner);
    return part === OTHER_PARTS ? this.#keys.others(caller, limit) : this.#keys.own(caller, limit, part);
  }

  async #ask({ limits, text }: Trip, asked: Asked, trip: string, lease: Lease | null): Promise<Reply> {
    const { caller, main, cost } = asked;
    const keys = limits.map(limit => this.#key(limit, asked));
    const counted = limits.filter(({ role }) => role !== 'global');
    const hasValues = main !== '' && trip !== '2' && (counted.length > 0 || trip === '1');
    if (hasValues)
      keys.push(this.#keys.parts(caller), ...counted.map(each => this.#keys.others(caller, each)));
    const mode = trip === '0' ? '1' : '2';
    const args = [text, hasValues ? String(KEYS_PER_CALLER) : '0', mode, trip, String(cost)];
    if (lease !== null) {
      keys.push(lease.key);
      args.push(String(lease.most), lease.id, lease.inShadow ? '1' : '0');
    }
    return (await this.#run(DECIDE, keys, args)) as Reply;
  }

  #leaseFor(set: LimitSet, { caller, main }: Asked): Lease | null {
    const limit = set.concurrent ?? set.shadow?.concurrent ?? null;
    if (limit === null) return null;
    const key = this.#keys.leases(caller, limit, main);
    return { key, id: `earlier:${++this.#asked}`, most: limit.units, inShadow: set.concurrent === null };
  }

  async #end(lease: Lease | null): Promise<void> {
    if (lease !== null && this.#held.delete(lease)) await this.#runner.client.zrem(lease.key, lease.id);
  }

  async #noteOpened({ limits }: Trip, asked: Asked, reply: Reply): Promise<void> {
    const opened = limits.map(limit => this.#key(limit, asked));
    await this.#run(NOTE_OPENED, [this.#keys.parts(asked.caller)], [...opened, String(reply[6])]);
  }

  async #undo({ limits, text }: Trip, asked: Asked, reply: Reply, isOwn: boolean): Promise<void> {
    const size = limits.length;
    const [windows, restored] = [reply.slice(6, 6 + size), reply.slice(6 + size, 6 + 2 * size)];
    const args = [text, ...windows.map(String), 'undo', String(asked.cost), ...restored.map(String)];
    const keys = limits.map(limit => this.#key(limit, asked));
    if (isOwn && asked.main !== '') keys.push(this.#keys.parts(asked.caller));
    await this.#run(REFUND, keys, args);
  }

  #key(limit: Limit, { caller, main, group }: Asked): string {
    if (limit.role === 'global') return this.#keys.global(caller, limit);
    if (!isSharedRole(limit.role)) return this.#keys.own(caller, limit, main);
    return this.#keys.shared(limit, limit.role === 'group' ? groupCounterKey(group, main) : main);
  }

  #run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return replyTo(reply => this.#runner.run(script, keys, args, reply));
  }
}

type Words = [caller: string, main: string, group?: string, cost?: number];

function limitsIn(limits: LimitsByRole, isIn: (role: Limit['role']) => boolean): Limit[] {
  return LIMIT_ROLES.filter(isIn)
    .map(role => limits[role])
    .filter(limit => limit !== null);
}

function tripOf(set: LimitSet, isIn: (role: Limit['role']) => boolean): Trip {
  const held = limitsIn(set, isIn);
  const limits = [...held, ...(set.shadow === null ? [] : limitsIn(set.shadow, isIn))];
  return { limits, text: textOf(limits, held.length) };
}

function sharedTripsOf(set: LimitSet): Trip[] {
  const inShadow = set.shadow === null ? [] : limitsIn(set.shadow, isSharedRole);
  return [
    ...limitsIn(set, isSharedRole).map(limit => ({ limits: [limit], text: textOf([limit], 1) })),
    ...inShadow.map(limit => ({ limits: [limit], text: textOf([limit], 0) })),
  ];
}

function isAdmitted(reply: Reply | undefined): boolean {
  return ((reply?.[0] ?? 0) & ADMITTED) !== 0;
}

function textOf(limits: readonly Limit[], held: number): string {
  return JSON.stringify(
    limits.map(({ role, algorithm, units, periodMs, slackMs, largestCost }, at) => ({
      ...{ role, smooth: algorithm === 'smooth', units, period: periodMs, slack: slackMs },
      ...(largestCost !== 1 && { cost: largestCost }),
      ...(at >= held && { shadow: true }),
    })),
  );
}
