import type { SeriesTree } from './label-model.ts';

/** A tree of series whose counts another thread adds to its own. */
export interface Growing<Part, Amount> extends SeriesTree<Part> {
  /** Returns what this part has counted since the last call, and resets it; `null` if nothing. */
  take(): Amount | null;
  add(amount: Amount): void;
}

/** What series have counted: their label values and amounts. Series without counts are omitted. */
export type Growth<Amount> = (readonly [labels: readonly string[], amount: Amount])[];

/** Takes what all series of a metric have counted since the last call. */
export function takeGrowth<Part extends Growing<Part, Amount>, Amount>(root: Part): Growth<Amount> {
  const taken: Growth<Amount> = [];
  const labels: string[] = [];
  const visit = (part: Part) => {
    const amount = part.take();
    if (amount !== null) taken.push([[...labels], amount]);
    for (const [value, next] of part.parts) {
      labels.push(value);
      visit(next);
      labels.pop();
    }
  };
  visit(root);
  return taken;
}

/** Adds what the series of another thread have counted. */
export function addGrowth<Part extends Growing<Part, Amount>, Amount>(
  root: Part,
  growth: Growth<Amount>,
): void {
  for (const [labels, amount] of growth) labels.reduce((part, value) => part.of(value), root).add(amount);
}
