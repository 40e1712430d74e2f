import { compareLists, compareMaxima, type Difference, differ, joined } from '../difference.ts';
import { GRPC_METHOD, type RoutePattern } from '../routing/index.ts';
import { choice, count, Statuses, statuses, word } from '../values/index.ts';
import { applyingOf, type DescribedFacts } from './fact.ts';
import { keysOf, type ModelsOf, type PolicyConfig, type PolicyKeys } from './keys.ts';

// The keys of a bucket, except quotas and the keys that select whom they apply to. Everything about them derives from the list at
// the end: schema, model, and the output of `weir explain` and `weir diff`.

/** The lines of limits.yaml that use a bucket. */
type Lines = readonly RoutePattern[];

/** A setting of buckets: everything about one key in limits.yaml. */
interface BucketSetting<Keys extends PolicyKeys, Model extends object> {
  readonly keys: Keys;
  compile(config: PolicyConfig<Keys>, lines: Lines): Model;
  /**
   * Describes what the setting does, for `weir explain`.
   *
   * @param placeOf where a key of the bucket is written, or `null`
   */
  describe?(bucket: NoInfer<Model>, placeOf: (key: keyof Keys & string) => string | null): DescribedFacts;
  /** Returns what a change means to callers, for `weir diff`; `null` if nothing. */
  compare(now: BucketToCompare<Keys>, before: BucketToCompare<Keys>): Difference | null;
}

/** A bucket of one of two files, with the lines that use it there. */
interface BucketToCompare<Keys extends PolicyKeys> {
  readonly config: PolicyConfig<Keys>;
  readonly lines: Lines;
}

function bucketSetting<Keys extends PolicyKeys, Model extends object>(
  setting: BucketSetting<Keys, Model>,
): BucketSetting<Keys, Model> {
  return setting;
}

interface AlgorithmModel {
  /** The counting rule of its quotas. */
  readonly algorithm: 'window' | 'smooth';
}

const ALGORITHMS = {
  fixed: 'fixed: all of it again when the period is over',
  smooth: 'smooth: after a burst one request at a time',
} as const;

const algorithm = bucketSetting({
  keys: {
    algorithm: choice(['fixed', 'smooth']).describe(
      'fixed: a window opens with the first request and ends after the period. smooth: a full burst, then one request every period / number.',
    ),
  },
  compile: ({ algorithm }): AlgorithmModel => ({ algorithm: algorithm === 'fixed' ? 'window' : 'smooth' }),
  // A fixed window admits two bursts around its end; a smooth limit does not, but admits the next request earlier.
  compare: ({ config: { algorithm: now } }, { config: { algorithm: before } }) =>
    now === before ? null : differ('mixed', `${ALGORITHMS[now]}, before ${ALGORITHMS[before]}`),
});

/**
 * How the lines of limits.yaml use a bucket: one line for one route, one line with a wildcard for several routes, or several lines.
 */
type ScopeReason = 'one_line' | 'wildcard' | 'several_lines';

interface ScopeModel {
  readonly scope: 'user' | 'shared';
  /** Why the bucket has this scope, if the file does not set it. */
  readonly scopeReason: ScopeReason;
}

const SCOPE_REASONS = {
  one_line: 'one line uses the bucket',
  wildcard: 'the only line that uses the bucket covers several routes',
  several_lines: 'several lines use the bucket',
} as const;

const scope = bucketSetting({
  keys: {
    scope: word(['user', 'shared'])
      .optional()
      .describe(
        'The X-RateLimit-Scope that clients see. Left out: user if one line of routes uses the bucket and covers one route; shared if several do, or one that ends in /** (or in /* of a gRPC service).',
      ),
  },
  compile: ({ scope }, lines): ScopeModel => ({
    scope: scopeOf(scope, lines),
    scopeReason: scopeReason(lines),
  }),
  describe({ scope, scopeReason }, placeOf) {
    const place = placeOf('scope');
    const why = place === null ? SCOPE_REASONS[scopeReason] : `set by the bucket (${place})`;
    return { scope: `${scope}: ${why}` };
  },
  compare(now, before) {
    // Without lines there are no clients that could see the scope.
    if (now.lines.length === 0 || before.lines.length === 0) return null;
    const [is, was] = [now, before].map(({ config, lines }) => scopeOf(config.scope, lines));
    if (is === was) return null;
    const text = `scope ${is}, before ${was}`;
    // Only refusals of the scope `user` count as invalid requests (docs/contract.md, 4.8).
    return is === 'user'
      ? differ('stricter', `${text}: its 429s count as invalid requests`)
      : differ('looser', `${text}: its 429s no longer count as invalid requests`);
  },
});

function scopeOf(written: ScopeModel['scope'] | undefined, lines: Lines): ScopeModel['scope'] {
  return written ?? (scopeReason(lines) === 'one_line' ? 'user' : 'shared');
}

/**
 * Returns why a bucket has its scope, unless the file sets it: how many routes its lines of limits.yaml cover. A parameter
 * belongs to one route, whatever its value. A wildcard covers many: `/v1/**` covers paths, and `package.Service/*` the methods of
 * a service.
 */
export function scopeReason(lines: Lines): ScopeReason {
  if (lines.length > 1) return 'several_lines';
  return lines.some(coversSeveral) ? 'wildcard' : 'one_line';
}

function coversSeveral({ methods, segments }: RoutePattern): boolean {
  const last = segments.at(-1)?.kind;
  return last === 'tail' || (methods?.[0] === GRPC_METHOD && last === 'parameter');
}

const concurrent = bucketSetting({
  keys: {
    concurrent: count(65_535)
      .optional()
      .describe(
        'How many requests of one caller (and one value of the main parameter) may be in flight at once, streams and WebSockets included. Left out: any number.',
      ),
  },
  compile: ({ concurrent }) => ({ concurrent: concurrent ?? null }),
  describe({ concurrent }, placeOf) {
    const text = `${concurrent} of one caller in flight, streams and WebSockets included`;
    const place = placeOf('concurrent') ?? 'the default';
    return { 'at once': concurrent === null ? null : `${text} (${place})` };
  },
  compare: ({ config: now }, { config: before }) => compareConcurrent(now, before),
});

/** Compares how many concurrent requests of one caller two buckets allow; `undefined`: the bucket does not exist. */
export function compareConcurrent(
  now: { readonly concurrent?: number | undefined } | undefined,
  before: { readonly concurrent?: number | undefined } | undefined,
): Difference | null {
  const inWords = (max: number | null) => (max === null ? 'any number' : String(max));
  const [most, mostBefore] = [now?.concurrent ?? null, before?.concurrent ?? null];
  return compareMaxima('of one caller at once:', most, mostBefore, inWords);
}

const giveBack = bucketSetting({
  keys: {
    give_back: statuses()
      .optional()
      .describe(
        'The statuses of responses (404) or classes of them (5xx), of the service or the gateway, whose requests are given back to the limits of the bucket: sign-ins that succeed, failures of the service. Never to the global limit. Left out: none.',
      ),
  },
  compile: ({ give_back: list }): { readonly giveBack: Statuses | null } => ({
    giveBack: list === undefined ? null : new Statuses(list),
  }),
  describe({ giveBack }, placeOf) {
    const text = `a request that is answered ${giveBack?.written.join(', ')} is given back`;
    return { 'give back': giveBack && `${text} (${placeOf('give_back') ?? 'the default'})` };
  },
  compare({ config: { give_back: now = [] } }, { config: { give_back: before = [] } }) {
    const [is, was] = [now, before].map(list => list.join(', ') || 'nothing');
    if (is === was) return null;
    const differences = compareLists(now, before, { added: 'gives back', removed: 'no longer gives back' });
    return differences.length === 0
      ? null
      : { ...joined(differences), text: `gives back ${is}, before ${was}` };
  },
});

/** Every setting, in the order of the keys in the JSON Schema and in the effective configuration. */
const SETTINGS = [algorithm, scope, concurrent, giveBack] as const;

type Setting = (typeof SETTINGS)[number];

export type BucketSettingModels = ModelsOf<Setting>;

export const bucketSettingKeys = keysOf(SETTINGS);

type Config = PolicyConfig<typeof bucketSettingKeys>;

export function compileBucketSettings(config: Config, lines: Lines): BucketSettingModels {
  return Object.assign({}, ...SETTINGS.map((setting: Setting) => setting.compile(config, lines)));
}

export function describeBucketSettings(
  bucket: BucketSettingModels,
  placeOf: (key: keyof Config) => string | null,
) {
  return applyingOf(SETTINGS.map((setting: Setting) => setting.describe?.(bucket, placeOf)));
}

export function compareBucketSettings(
  now: BucketToCompare<typeof bucketSettingKeys>,
  before: BucketToCompare<typeof bucketSettingKeys>,
): Difference[] {
  return SETTINGS.map((setting: Setting) => setting.compare(now, before)).filter(
    difference => difference !== null,
  );
}
