import type { LimitsConfig } from '../schema/index.ts';
import { compareLists, type Difference } from './compare-values.ts';

type Entry = LimitsConfig['never_restrict'][number];

const SPARED = { added: 'no longer restricts', removed: 'may restrict again' } as const;
/** To be blocked no longer is what allows something. */
const BLOCKED = { added: 'no longer blocks', removed: 'blocks' } as const;

export function compareSpared(now: readonly Entry[], before: readonly Entry[]): Difference[] {
  return compareEntries(now, before, SPARED);
}

export function compareBlocked(now: LimitsConfig['blocked'], before: LimitsConfig['blocked']): Difference[] {
  return compareEntries(entriesOf(before), entriesOf(now), BLOCKED);
}

function entriesOf({ addresses, callers }: LimitsConfig['blocked']): Entry[] {
  return [...addresses, ...callers];
}

function compareEntries(
  now: readonly Entry[],
  before: readonly Entry[],
  verbs: { readonly added: string; readonly removed: string },
): Difference[] {
  const without = (list: readonly Entry[], others: readonly Entry[]) => {
    const known = new Set(others.map(keyOf));
    return list.filter(entry => !known.has(keyOf(entry)));
  };
  // One by one, since as many callers may be new as are gone.
  return [
    ...compareLists([], namesOf(without(before, now)), verbs),
    ...compareLists(namesOf(without(now, before)), [], verbs),
  ];
}

function keyOf(entry: Entry): string {
  return typeof entry === 'string' ? entry : JSON.stringify(Object.entries(entry).sort());
}

/** Only counts callers: a line of the log must not name a person. */
function namesOf(entries: readonly Entry[]): string[] {
  const networks = entries.filter(entry => typeof entry === 'string');
  const callers = entries.length - networks.length;
  if (callers === 0) return networks;
  return [...networks, `${callers} ${callers === 1 ? 'caller' : 'callers'}`];
}
