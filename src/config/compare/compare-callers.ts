import { compareQuotas, type Difference, differ, joined, type WeighedChange } from '../difference.ts';
import { formatPath } from '../file/index.ts';
import type { LimitsConfig } from '../limits/index.ts';
import { quotaOf } from '../limits/index.ts';
import type { Outline } from '../snapshot.ts';
import { classQuotas } from './compare-buckets.ts';

type Settings = Outline['settings'];

interface ClassRule {
  readonly subject: string;
  readonly name: string;
  /** The map of classes that it is in, where the order matters; `null` for bots. */
  readonly list: string | null;
  /** Equal for equal rules. */
  readonly content: string;
}

/** Compares who belongs to which class, by what its callers may send. */
export function compareCallers(now: Outline, before: Outline): WeighedChange[] {
  const [rules, old] = [rulesIn(now.settings), rulesIn(before.settings)];
  const changed = [...new Set([...rules.keys(), ...old.keys()])].flatMap(subject => {
    const [rule, was] = [rules.get(subject), old.get(subject)];
    const { name } = rule ?? was ?? { name: '' };
    if (rule?.content === was?.content) return [];
    const joining = rule === undefined ? null : changesFor([now.limits, name], [before.limits, 'user']);
    const leaving = was === undefined ? null : changesFor([now.limits, 'user'], [before.limits, name]);
    return [{ subject, ...differenceOf(joining, leaving) }];
  });
  return [...changed, ...compareOrder(rules, old)];
}

/** @param joining what changes for callers who now belong to it, and for those who no longer do; `null` if there are none */
function differenceOf(joining: Difference | null, leaving: Difference | null): Difference {
  if (joining === null || leaving === null)
    return joining === null
      ? described(leaving ?? joined([]), 'its callers get the limits of users')
      : described(joining, 'its callers get other limits than users');
  const both = joined([joining, leaving].filter(({ text }) => text !== ''));
  return both.text === ''
    ? differ('neutral', 'other callers belong to it, who keep their limits')
    : { ...both, effect: 'mixed', text: `other callers belong to it: ${both.text}` };
}

/** @param difference the change; its text is empty if nothing changes */
function described(difference: Difference, what: string): Difference {
  return difference.text === ''
    ? differ('neutral', 'its callers have the limits of users, as before')
    : { ...difference, text: `${what}: ${difference.text}` };
}

type LimitsOfClass = readonly [limits: LimitsConfig, name: string];

/** What changes for callers who move from one class to another: in the global limit, and in buckets that both files have. */
function changesFor([now, to]: LimitsOfClass, [before, from]: LimitsOfClass): Difference {
  const [globalNow, globalBefore] = [now, before].map(({ global }) =>
    global === 'off' || global.shadow === true ? undefined : global,
  );
  const buckets = Object.keys(now.buckets).flatMap(name => {
    const [bucket, old] = [now.buckets[name], Object.hasOwn(before.buckets, name) && before.buckets[name]];
    if (bucket === undefined || !old || bucket.shadow === true || old.shadow === true) return [];
    return [[`bucket ${name}`, quotaOf(bucket, to) ?? null, quotaOf(old, from) ?? null] as const];
  });
  const ofGlobal = [classQuotas(globalNow).of(to), classQuotas(globalBefore).of(from)] as const;
  return joined(
    [['global limit', ...ofGlobal] as const, ...buckets].flatMap(([what, quota, old]) => {
      const difference = compareQuotas(quota, old);
      return difference === null ? [] : [{ ...difference, text: `${what} ${difference.text}` }];
    }),
  );
}

/** Compares the order of classes: the first class that matches a caller counts. */
function compareOrder(
  rules: ReadonlyMap<string, ClassRule>,
  old: ReadonlyMap<string, ClassRule>,
): WeighedChange[] {
  const kept = (one: ReadonlyMap<string, ClassRule>, other: ReadonlyMap<string, ClassRule>) =>
    Map.groupBy(
      [...one.values()].filter(({ list, subject }) => list !== null && other.has(subject)),
      ({ list }) => list,
    );
  const before = kept(old, rules);
  return [...kept(rules, old)].flatMap(([list, each]) => {
    const [order, oldOrder] = [each, before.get(list) ?? []].map(names =>
      names.map(({ name }) => name).join(', '),
    );
    if (list === null || order === oldOrder) return [];
    const text = `in the order ${order}, before ${oldOrder}: the first that fits a caller counts`;
    return [{ subject: list, ...differ('mixed', text) }];
  });
}

function rulesIn(settings: Settings): ReadonlyMap<string, ClassRule> {
  const rules = new Map<string, ClassRule>();
  for (const { path, digest } of settings.values()) {
    // Those marked `byClass`, found without the schema, which takes much longer.
    const at = path[0] === 'access_tokens' ? 1 : path[0] === 'identity_providers' ? 2 : path.length;
    const isBots = path[at] === 'bots';
    // Only a rule has parts.
    if ((!isBots && path[at] !== 'classes') || path.length < at + (isBots ? 2 : 3)) continue;
    const subject = formatPath(path.slice(0, at + (isBots ? 1 : 2)));
    const list = isBots ? null : formatPath(path.slice(0, at + 1));
    const content = `${rules.get(subject)?.content ?? ''} ${path.at(-1)} ${digest}`;
    rules.set(subject, { subject, name: isBots ? 'bot' : String(path[at + 1]), list, content });
  }
  return rules;
}
