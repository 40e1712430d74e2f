import { onTestFailed, test } from 'vitest';

/** A number from the environment, so that a longer or another run needs no change of code. */
function numberFrom(name: string, fallback: number): number {
  const text = process.env[name];
  if (text === undefined) return fallback;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0)
    throw new Error(`${name} must be a whole number, not ${text}`);
  return number;
}

/** How many times the whole of each random run (`WEIR_LONG`): 0 in `npm test`, which plays a tenth, and 1 in `npm run test:long`. */
const long = numberFrom('WEIR_LONG', 0);
/** Whether random runs are whole: only then may they start programs of others. */
export const areWhole = long > 0;
/** Declares a test that is too dear for `npm test`, where a cheaper one of its kind is: `npm run test:dear` runs those files whole. */
export function dear(name: string, run: () => Promise<void>): void {
  if (areWhole) test(name, run);
}
/** Repeats all random runs (`WEIR_SEED`): the same in each `npm test`, one a day in `npm run test:long`. */
const fixedSeed = numberFrom('WEIR_SEED', 20_260_219);

/**
 * How much of a random run is played: cases, histories, deaths.
 *
 * @param whole by `npm run test:long`
 * @param quick by `npm test`. Default: a tenth
 */
export function runs(whole: number, quick = Math.ceil(whole / 10)): number {
  return long === 0 ? quick : long * whole;
}

/** The seed of the test that runs. Should the test fail, the line that repeats it is printed. */
export function seedOfRun(): number {
  onTestFailed(({ task }) => {
    const variables = `WEIR_SEED=${fixedSeed}${long === 0 ? '' : ` WEIR_LONG=${long}`}`;
    const config = task.file.name.startsWith('test/long/') ? '--config test/long/vitest.config.ts ' : '';
    process.stderr.write(`To repeat: ${variables} npx vitest run ${config}${task.file.name}\n`);
  });
  return fixedSeed;
}

/** Parameters of `fc.assert`, for as many runs as `runs` says. */
export function played(whole: number, quick?: number): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: runs(whole, quick), seed: seedOfRun() };
}
