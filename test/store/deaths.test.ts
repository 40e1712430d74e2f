import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limitsIn } from '../../src/limits/counting/limit-definition.ts';
import {
  type DrawnUnits,
  defineLimit,
  groupCounterKey,
  isSharedRole,
  type Limit,
  type LimitRole,
  type LimitSet,
  NO_LIMITS,
  parseQuota,
  unitsTaken,
} from '../../src/limits/index.ts';
import type { RedisStore } from '../../src/limits/redis/index.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { storeOn } from './parts.ts';
import { TimedRunner } from './timed-runner.ts';

const HISTORIES = runs(200, 10);
const STEPS = 60;
const GATEWAYS = 3;
const BEGINS_MS = Date.parse('2026-10-24T19:00:00Z');
const ZONE = 'Europe/Berlin';
const LONGEST_SLACK_MS = 20;

let server: RedisServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await server.client.ping();
  await server.close();
});

type Connection = Pick<TimedRunner, 'isCluster' | 'prefix' | 'run'>;

/** The connection of a gateway that dies: after so many scripts it sends nothing more, and hears of nothing. */
class MortalConnection implements Connection {
  readonly isCluster: boolean;
  readonly prefix: string;
  readonly #runner: TimedRunner;
  #left = Number.POSITIVE_INFINITY;
  #hearsLast = true;
  readonly #death = Promise.withResolvers<'dead'>();

  constructor(runner: TimedRunner) {
    this.isCluster = runner.isCluster;
    this.prefix = runner.prefix;
    this.#runner = runner;
  }

  get isDead(): boolean {
    return this.#left <= 0;
  }

  /** Resolves once it would have sent or heard more. */
  get death(): Promise<'dead'> {
    return this.#death.promise;
  }

  /** @param hearsLast whether the reply to the last script still comes */
  dieAfter(scripts: number, hearsLast: boolean): void {
    this.#left = scripts;
    this.#hearsLast = hearsLast;
  }

  readonly run: Connection['run'] = (script, keys, args, reply) => {
    if (this.isDead) return this.#death.resolve('dead');
    this.#left--;
    const isHeard = !this.isDead || this.#hearsLast;
    this.#runner.run(script, keys, args, (...replied: Parameters<typeof reply>) => {
      if (isHeard) reply(...replied);
      else this.#death.resolve('dead');
    });
  };
}

interface Gateway {
  readonly connection: MortalConnection;
  readonly store: RedisStore;
}

interface Drawn {
  endMs: number;
  /** Were nothing counted of a request that no client got an answer to, and all of it. */
  least: number;
  most: number;
}

/** What was drawn of each counter in the window of now, at least and at most. */
class Ledger {
  readonly #drawn = new Map<string, Drawn>();
  nowMs = BEGINS_MS;

  of({ identity, role, calendar }: Limit, caller: string): Drawn {
    const key = `${identity} ${isSharedRole(role) ? '' : caller}`;
    const endMs = calendar?.endAfter(this.nowMs) ?? 0;
    const known = this.#drawn.get(key);
    if (known !== undefined && known.endMs === endMs) return known;
    const drawn = { endMs, least: 0, most: 0 };
    this.#drawn.set(key, drawn);
    return drawn;
  }

  /** Units go back, or more are drawn, if the window is the same. */
  back(limit: Limit, window: number, units: number, caller: string): void {
    const drawn = this.of(limit, caller);
    if (drawn.endMs !== window) return;
    drawn.least -= units;
    drawn.most -= units;
  }
}

function define(role: LimitRole, quotas: string, isTrial = false): Limit {
  const [first, ...more] = quotas.split(' ').map(each => {
    const [quota = '', unit] = each.split(':');
    return { ...parseQuota(quota), unit: unit === 'cost' ? ('cost' as const) : undefined };
  });
  if (first === undefined) throw new Error('no quota');
  return defineLimit({
    ...{ role, bucket: role === 'global' ? '' : 'b', main: role === 'global' ? null : 'id' },
    ...{ algorithm: 'window', quota: { ...first, more }, timeZone: ZONE, largestCost: 3, isTrial },
    ...(role === 'group' && { claim: 'org' }),
    ...{ returnsUnits: role === 'caller', hasCostQuota: true, isPriced: true },
  });
}

const global = define('global', '20/day 60/week');
const caller = define('caller', '8/day 30/day:cost 70/week:cost');
const group = define('group', '12/day 40/week:cost');
const resource = define('resource', '14/day 90/month:cost');
const shadow = {
  ...NO_LIMITS,
  caller: define('caller', '3/day', true),
  resource: define('resource', '5/day', true),
};
const SETS: readonly LimitSet[] = [
  { ...NO_LIMITS, global, caller, group, resource },
  { ...NO_LIMITS, caller, group },
  { ...NO_LIMITS, global, resource },
  { ...NO_LIMITS, caller, resource, shadow },
];

const partOf = ({ role }: Limit) => (role === 'group' ? groupCounterKey('acme', 'x') : 'x');

/** A moment, an hour or most of a day later; never in the slack of a window, of which this ledger knows nothing. */
function later(step: number, nowMs: number): number {
  const laterMs = nowMs + ([0, 7, 3_600_000, 50_000_000][step % 4] ?? 0);
  const endMs = define('caller', '1/day').calendar?.endAfter(laterMs) ?? 0;
  return endMs - laterMs <= LONGEST_SLACK_MS ? endMs : laterMs;
}

/** A request that was admitted, and has an answer still to come. */
interface Open {
  readonly gateway: Gateway;
  readonly caller: string;
  readonly units: readonly (DrawnUnits & { readonly cost: number })[];
}

const number = fc.noBias(fc.nat({ max: 2 ** 30 }));

test.each([
  ['one server', false],
  ['a cluster', true],
])(
  `in ${HISTORIES} histories on %s a gateway that dies takes of each limit no more than what it had under way, and lets nobody in beyond a limit`,
  async (_, isCluster) => {
    const seen = { deaths: 0, lost: 0, admitted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(number, { minLength: STEPS, maxLength: STEPS, size: 'max' }), async steps => {
        const runner = new TimedRunner(server.client, `d${prefixes++}:`, isCluster);
        await Promise.all([DECIDE, HOLD, REFUND].map(script => runner.load(script)));
        const clock = { epochMs: () => runner.nowMs, monotonicMs: () => 1e9 * prefixes++ };
        const newGateway = (): Gateway => {
          const connection = new MortalConnection(runner);
          return { connection, store: storeOn(connection, {}, clock) };
        };
        const gateways = Array.from({ length: GATEWAYS }, newGateway);
        const ledger = new Ledger();
        let open: Open[] = [];

        /** Asks, as a gateway that may die over it. */
        const decide = async (gateway: Gateway, set: LimitSet, who: string, cost: number) => {
          const { store, connection } = gateway;
          const decision = await Promise.race([store.decide(set, who, 'x', 'acme', cost), connection.death]);
          const limits = limitsIn(set);
          if (decision !== 'dead' && decision.admitted) {
            seen.admitted++;
            for (const limit of limits) {
              const drawn = ledger.of(limit, who);
              drawn.least += unitsTaken(limit, cost);
              drawn.most += unitsTaken(limit, cost);
              expect(drawn.least, `${limit.identity} of ${who}`).toBeLessThanOrEqual(limit.units);
            }
            const units = decision.drawn.map(each => ({ ...each, cost: unitsTaken(each.limit, cost) }));
            open.push({ gateway, caller: who, units });
            return;
          }
          if (decision !== 'dead') {
            seen.refused++;
            const isFull = (limit: Limit) =>
              ledger.of(limit, who).most + unitsTaken(limit, cost) > limit.units;
            expect(limits.some(isFull), 'refused, and every limit has room').toBe(true);
            // It has given back what it drew before the refusal.
            if (!connection.isDead) return;
          }
          for (const limit of limits) ledger.of(limit, who).most += unitsTaken(limit, cost);
        };

        /** The response says what it cost, or that it is given back. */
        const settle = ({ gateway, caller: who, units }: Open, price: number | null) => {
          for (const { limit, window, cost } of units) {
            if (price !== null && !limit.isPriced) continue;
            const back = price === null ? cost : cost - price;
            if (back === 0) continue;
            const { isDead } = gateway.connection;
            gateway.store.refund(limit, partOf(limit), window, back, who);
            if (!isDead) ledger.back(limit, window, back, who);
          }
        };

        for (const step of steps) {
          runner.nowMs = ledger.nowMs = later(step, ledger.nowMs);
          const bits = Math.floor(step / 4);
          const at = bits % GATEWAYS;
          const gateway = gateways[at];
          const set = SETS[Math.floor(bits / 8) % SETS.length];
          if (gateway === undefined || set === undefined) throw new Error('a number out of range');
          const who = bits % 5 === 0 ? 'user:b' : 'user:a';
          const dies = Math.floor(bits / 32) % 6 === 0;
          if (dies) gateway.connection.dieAfter(Math.floor(bits / 256) % 8, bits % 2 === 0);
          const mine = open.findIndex(each => each.gateway === gateway);
          if (Math.floor(bits / 1_024) % 3 === 0 && mine >= 0) {
            const [over] = open.splice(mine, 1);
            if (over !== undefined) settle(over, bits % 4 === 0 ? null : Math.floor(bits / 4_096) % 9);
          } else await decide(gateway, set, who, 1 + (Math.floor(bits / 512) % 3));
          if (!dies) continue;
          seen.deaths++;
          // Whatever it had under way stays as it is.
          open = open.filter(each => each.gateway !== gateway);
          gateways[at] = newGateway();
        }

        const [reader = newGateway()] = gateways;
        for (const limit of SETS.flatMap(limitsIn))
          for (const who of ['user:a', 'user:b']) {
            const main = limit.role === 'global' ? '' : partOf(limit);
            const read = await reader.store.allowances.read([limit], who, main);
            const remaining = read?.allowances[0]?.remaining ?? -1;
            const { least, most } = ledger.of(limit, who);
            const told = `${limit.identity} of ${who}: ${remaining} left, ${least} to ${most} drawn`;
            expect(remaining <= Math.max(0, limit.units - least), told).toBe(true);
            expect(remaining >= Math.max(0, limit.units - most), told).toBe(true);
            if (remaining < Math.max(0, limit.units - least)) seen.lost++;
          }
      }),
      { seed: seedOfRun(), numRuns: HISTORIES, endOnFailure: false },
    );
    for (const count of Object.values(seen)) expect(count, JSON.stringify(seen)).toBeGreaterThan(HISTORIES);
  },
);
