import type { RedisScript } from '../../../src/limits/redis/connection/index.ts';
import { MODE, STEP } from '../../../src/limits/redis/store/script-words.ts';
import type { Random } from '../../support/random.ts';
import { WEIR_SCRIPTS } from './weir-scripts.ts';

export type Words = readonly (string | number)[];

const PERIODS_MS = [100, 1_000, 5_000, 60_000, 2_592_000_000];
const UNITS = [1, 2, 3, 5, 100, 1_000_000];
const ROLES = ['global', 'caller', 'group', 'resource'];
const NUMBERS = ['0', '1', '-1', '2', '5', '60', '1.5', '1e3', '+inf', '-inf', '(3', 'x', '', ' 1', '007'];
const SPANS = ['1', '20', '1000', '5000', '0', '-5', 'x', '9223372036854775807', '7000000000000', '1.5'];
const TOPICS = ['restricted:a', 'revoked:b', 'lifted:c', 'revoked:d'];

interface LimitText {
  readonly role: string;
  readonly shadow?: true;
  readonly [field: string]: unknown;
}

/** Makes up what Weir may send, most of it well-formed, on few keys, so that one meets what another left. */
export class GeneratedCommands {
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #plans: LimitText[][];
  #leases = 0;

  constructor(random: Random, nowMs: () => number) {
    this.#random = random;
    this.#nowMs = nowMs;
    this.#plans = Array.from({ length: 5 }, () => this.#plan());
  }

  next(): Words {
    const random = this.#random;
    if (random.chance(0.15)) return this.#plain();
    const [script, keys, args] = this.#scripted();
    const rest = [keys.length, ...keys, ...args];
    if (random.chance(0.02)) return ['EVALSHA', script.sha, random.pick(['x', '-1', '99']), ...rest.slice(1)];
    return random.chance(0.9) ? ['evalsha', script.sha, ...rest] : ['EVAL', script.source, ...rest];
  }

  #plan(): LimitText[] {
    const random = this.#random;
    const some = (isIn: number) => ROLES.filter(() => random.chance(isIn)).map(role => this.#limit(role));
    const held = some(0.6);
    const inShadow = random.chance(0.3) ? some(0.4).map(limit => ({ ...limit, shadow: true as const })) : [];
    const plan = [...held, ...inShadow];
    return plan.length > 0 ? plan : [this.#limit('caller')];
  }

  #limit(role: string): LimitText {
    const random = this.#random;
    const cost = random.chance(0.3) ? { cost: random.pick([2, 5]) } : {};
    const smooth = random.chance(0.5);
    const [units, period] = [random.pick(UNITS), random.pick(PERIODS_MS)];
    return { role, smooth, units, period, slack: random.pick([0, 5, 20, 50]), ...cost };
  }

  /** A name for the counter of a limit in a plan: three values each. */
  #counter(plan: LimitText[], at: number): string {
    return `{${this.#plans.indexOf(plan)}}${at}:${this.#random.below(3)}`;
  }

  #limitKeys(plan: LimitText[], hasValues: boolean): string[] {
    const counters = plan.map((_, at) => this.#counter(plan, at));
    const others = plan.flatMap(({ role }, at) =>
      role === 'global' ? [] : [`{${this.#plans.indexOf(plan)}}${at}:*`],
    );
    return hasValues ? [...counters, this.#index(plan), ...others] : counters;
  }

  #index(plan: LimitText[]): string {
    return `{${this.#plans.indexOf(plan)}}parts`;
  }

  #leaseKey(plan: LimitText[]): string {
    return `{${this.#plans.indexOf(plan)}}leases`;
  }

  #lease(): string {
    return `gateway:${this.#random.chance(0.5) ? ++this.#leases : this.#random.below(this.#leases + 1)}`;
  }

  #window(): number {
    return this.#random.pick([0, this.#nowMs() + this.#random.pick(PERIODS_MS), this.#nowMs()]);
  }

  #scripted(): [RedisScript, string[], Words] {
    const random = this.#random;
    const plan = random.pick(this.#plans);
    const few = () => Array.from({ length: 1 + random.below(3) }, () => this.#lease());
    const board = ['state', 'values', 'ends', 'news'].map(part => `{board}:${part}`);
    switch (random.pick(KINDS)) {
      case 'decide':
        return [WEIR_SCRIPTS.decide, ...this.#decision(plan)];
      case 'refund': {
        const windows = plan.map(() => this.#window());
        const toRestore = plan.map(({ smooth }) => (smooth === true ? this.#window() : random.below(5) - 1));
        const mode = random.pick([MODE.refund, MODE.undo]);
        const rest = [mode, random.pick([1, 1, 2, 5]), ...windows, ...toRestore];
        const keys = [...this.#limitKeys(plan, false), ...(random.chance(0.5) ? [this.#index(plan)] : [])];
        return [WEIR_SCRIPTS.refund, keys, [JSON.stringify(plan), ...rest]];
      }
      case 'note':
        return [WEIR_SCRIPTS.hold, [this.#index(plan)], [MODE.note, this.#counter(plan, 0), this.#window()]];
      case 'hold':
        return [WEIR_SCRIPTS.hold, [this.#leaseKey(plan)], [random.pick([MODE.renew, MODE.end]), ...few()]];
      case 'count':
        return [WEIR_SCRIPTS.hold, this.#plans.map(each => this.#leaseKey(each)), [MODE.count]];
      case 'readAllowances': {
        const own = plan.filter(({ role }) => role === 'global' || role === 'caller');
        const most = random.pick([0, 2, 100]);
        const keys = own.map((_, at) => this.#counter(plan, at));
        const others = own
          .filter(({ role }) => role === 'caller')
          .map((_, at) => `${this.#index(plan)}${at}:*`);
        const all = most > 0 ? [...keys, this.#index(plan), ...others] : keys;
        return [WEIR_SCRIPTS.decide, all, [JSON.stringify(own), MODE.read, STEP.whole, most, 1]];
      }
      case 'drop': {
        const starts = random.chance(0.5) ? [`{${this.#plans.indexOf(plan)}}${random.below(2)}`] : [];
        const keys = [this.#counter(plan, 0), ...(starts.length > 0 ? [this.#index(plan)] : [])];
        return [WEIR_SCRIPTS.hold, keys, [MODE.drop, ...starts]];
      }
      case 'post':
        return [WEIR_SCRIPTS.post, board, [`board-${random.below(3)}`, 'board', ...this.#facts()]];
      case 'read': {
        const known = random.pick(['', 'board-0', 'board-1', 'board-2']);
        return [WEIR_SCRIPTS.read, board, [known, random.below(20), random.pick([1, 2, 200])]];
      }
      case 'claim':
        return [WEIR_SCRIPTS.claim, [`notice:${random.below(4)}`], [random.pick(SPANS)]];
      case 'tryRights':
        return [WEIR_SCRIPTS.tryRights, ['{0}probe', '{0}probe:set'], ['board']];
      case 'beat':
        return [WEIR_SCRIPTS.beat, ['replicas'], [`gateway-${random.below(5)}`, 10_000]];
      case 'addOffences':
        return [
          WEIR_SCRIPTS.addOffences,
          [`offence:${random.below(3)}`],
          [1 + random.below(9), random.pick([1, 60])],
        ];
      case 'forgetOffences':
        return [WEIR_SCRIPTS.forgetOffences, [`offence:${random.below(3)}`], []];
    }
  }

  #decision(plan: LimitText[]): [string[], Words] {
    const random = this.#random;
    const { whole, own: ofCaller, shared, sharedIfOpen, others } = STEP;
    const step = random.pick([whole, whole, whole, ofCaller, shared, sharedIfOpen, others]);
    const isShared = step === shared || step === sharedIfOpen;
    const asked = isShared ? plan.slice(0, 1) : plan;
    const most = isShared ? 0 : random.pick([0, 0, 1, 2, 100]);
    const keys = this.#limitKeys(plan, most > 0);
    const own = isShared ? keys.slice(0, 1) : keys;
    const mode = random.pick([MODE.look, MODE.take, MODE.take]);
    const args = [JSON.stringify(asked), mode, step, most, random.pick([1, 1, 1, 2, 5])];
    if (random.chance(0.7)) return [own, args];
    const lease = [random.pick([1, 2, 3, 100]), this.#lease(), random.pick(['0', '1'])];
    return [
      [...own, this.#leaseKey(plan)],
      [...args, ...lease],
    ];
  }

  #facts(): (string | number)[] {
    return Array.from({ length: 1 + this.#random.below(4) }, () => [
      `${this.#random.pick(TOPICS)}${this.#random.below(4)}`,
      this.#random.below(50),
      this.#random.pick([0, 1, 100, 5_000, 600_000, 3_155_760_000_000, 7_000_000_000_000_000]),
    ]).flat();
  }

  /** A command by itself: well-formed, or not. */
  #plain(): Words {
    const random = this.#random;
    const key = random.pick(['a', 'b', 'z', '{board}:values', '{0}leases', '{0}parts', 'offence:1']);
    const number = () => random.pick(NUMBERS);
    return random.pick<() => Words>([
      () => ['get', key],
      () => ['set', key, random.bytes(3).toString('latin1'), 'PX', random.pick(SPANS)],
      () => ['set', key, number(), 'NX', 'EX', random.pick(SPANS)],
      () => ['set', key, '5', ...(random.chance(0.5) ? [] : ['PX', '5', 'EX', '1'])],
      () => ['incrby', key, number()],
      () => ['incr', key],
      () => ['del', key, 'q'],
      () => [random.pick(['expire', 'pexpire']), key, random.pick(SPANS)],
      () => ['pttl', key],
      () => ['type', key],
      () => ['time'],
      () => ['zadd', key, number(), 'm', number(), random.bytes(2).toString('latin1')],
      () => ['zadd', key, 'XX', number(), 'm', ...(random.chance(0.2) ? ['odd'] : [])],
      () => ['zrem', key, 'm', 'n'],
      () => [random.pick(['zcount', 'zremrangebyscore', 'zrangebyscore']), key, number(), number()],
      () => ['zrangebyscore', key, '-inf', '+inf', 'LIMIT', random.pick(['0', '1', '-1', 'x']), number()],
      () => ['zscore', key, 'm'],
      () => ['zcard', key],
      () => ['zrange', key, random.pick(['0', '-1']), '-1', 'WITHSCORES'],
      () => ['publish', random.pick(['board', 'deaf']), 'text'],
      () => ['ping'],
      () => [random.pick(['get', 'zadd', 'publish', 'evalsha', 'pttl', 'script'])],
      () => ['evalsha', 'f'.repeat(40), '0'],
      () => ['eval', random.pick(FAULTY), '1', key],
      () => ['eval', random.pick(ODD), '2', key, 'b', number(), '7'],
    ])();
  }
}

const KINDS = [
  ...(['decide', 'decide', 'decide', 'decide', 'decide', 'decide', 'decide', 'decide'] as const),
  ...(['note', 'count', 'readAllowances', 'drop'] as const),
  ...(Object.keys(WEIR_SCRIPTS) as (keyof typeof WEIR_SCRIPTS)[]),
];

/** Scripts that fail, in the ways in which a script of Weir would if it met what it does not expect. */
const FAULTY = [
  "return redis.call('zcard', KEYS[1])",
  "return redis.pcall('get', KEYS[1])",
  "redis.call('set', KEYS[1], 'before')\nreturn redis.call('get')",
  "return redis.call('zadd', KEYS[1], 'x', 'y')",
  "return redis.call('subscribe', 'a')",
  'return missing',
  'made = 1',
  "error('boom')",
  "return redis.call('get', {})",
  'return redis.call()',
  "redis.call('del', KEYS[1]) return redis.call('set', KEYS[1], 'after')",
];

/** Scripts that return or hand on what may be converted in more ways than one. */
const ODD = [
  "return {1, 2.9, -2.9, 'x', true, false, nil, 3}",
  "return {1e15, 2^53, 1e17, -0.5, {KEYS[1], {ok = 'fine'}, {err = 'ERR bad'}}}",
  "redis.call('set', KEYS[1], 0.1) return redis.call('get', KEYS[1])",
  "redis.call('set', KEYS[1], 12345678901234567) return redis.call('get', KEYS[1])",
  "redis.call('set', KEYS[1], 1e17) return redis.call('get', KEYS[1])",
  'return {tonumber(ARGV[1]) or "none", tonumber(ARGV[2]) / 2, 7 % 4, #ARGV, string.format("%.0f", 2^60)}',
  "return {tostring(1e15), tostring(7), string.sub('abc', 2), string.match('a:12', '^(.*):(%d+)$')}",
  "local found = redis.pcall('zscore', KEYS[1], 'm') return {type(found), found}",
  "return redis.call('zadd', KEYS[2], ARGV[1], 'm')",
  'return cjson.decode(\'[1,2.5,"a\\\\u00e9",true,{"b":3}]\')',
];
