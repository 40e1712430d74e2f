import { figureOf } from '../bench/measure/figures.ts';

/** Prepares a case, which is not measured, and returns what is. */
type Case = () => (() => unknown) | Promise<() => unknown>;

/**
 * Prints what each case takes of processor time over all threads, in microseconds an item: medians with their range. All cases
 * take turns in each round; the first round warms up.
 */
export async function printCosts(
  rounds: number,
  items: number,
  cases: Readonly<Record<string, Case>>,
): Promise<void> {
  const micros = new Map(Object.keys(cases).map(name => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round++)
    for (const [name, prepare] of Object.entries(cases)) {
      const work = await prepare();
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      if (round > 0) micros.get(name)?.push((user + system) / items);
    }
  for (const [name, spent] of micros) {
    const { median, lowest, highest } = figureOf(spent);
    console.log(`${name.padEnd(26)}${median.toFixed(1)} us (${lowest.toFixed(1)} to ${highest.toFixed(1)})`);
  }
}
