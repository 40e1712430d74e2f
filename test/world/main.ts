import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { UsageError } from '../../scripts/load/options.ts';
import { positive, runScript, whole } from '../../scripts/usage.ts';
import type { Played } from './many.ts';

const HELP = `npm run world -- [options]: plays worlds of whole gateways, each fixed by a seed, and judges them

  --seed N       plays one world
  --show         prints its history
  --only 3,7,12  lets only these steps of its plan happen
  --shrink       finds the fewest steps with which it still fails
  --minutes M    plays one world after the other for so long
  --from N       begins with this seed. Default: by the clock
  --processes N  plays so many worlds at once. Default: as many as there are processors

A failure ends with exit code 1. README.md beside this file says what lives in a world, and who judges.
`;

/** What one world takes, and what many do. */
const OF_ONE = ['show', 'only', 'shrink'] as const;
const OF_MANY = ['minutes', 'from', 'processes'] as const;

const say = (line: string) => void stdout.write(`${line}\n`);

const commit = () => execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();

/** Tells what became of a world. The last line is the same whenever the seed and the code are. */
function tell({ seed, findings, digest }: Played, replay: string): void {
  for (const { oracle, what, atMs } of findings) say(`${atMs.toFixed(3)} ${oracle}: ${what}`);
  if (findings.length > 0) say(`replay: npm run world -- ${replay}`);
  say(`seed ${seed} commit ${commit()} history ${digest}`);
}

async function playOne(
  seed: number,
  only: string | undefined,
  isShown: boolean,
  isShrunk: boolean,
): Promise<boolean> {
  const { play } = await import('./play.ts');
  const { playOnly, shrink } = await import('./shrink.ts');
  const show = isShown ? say : null;
  if (!isShrunk) {
    const numbers = only?.split(',').map(Number);
    const outcome = await (numbers === undefined ? play(seed, { show }) : playOnly(seed, numbers, show));
    tell(outcome, `--seed ${seed} --shrink`);
    return outcome.findings.length === 0;
  }
  const outcome = await shrink(seed, steps => say(`still fails with ${steps} steps`));
  for (const { number, atMs, what } of outcome.steps) say(`step ${number} at ${atMs.toFixed()} ms: ${what}`);
  tell(outcome, `--seed ${seed} --show --only ${outcome.steps.map(({ number }) => number).join(',')}`);
  return outcome.findings.length === 0;
}

await runScript('world', async () => {
  const { values } = parseArgs({
    options: {
      ...{ seed: { type: 'string' }, show: { type: 'boolean' }, only: { type: 'string' } },
      ...{ shrink: { type: 'boolean' }, minutes: { type: 'string' }, from: { type: 'string' } },
      processes: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const { seed, minutes, from, only, processes, show = false, shrink: isShrunk = false, help } = values;
  if (help === true || Object.keys(values).length === 0) {
    say(HELP);
    return 0;
  }
  if (seed === undefined && minutes === undefined)
    throw new UsageError('neither --seed nor --minutes is said');
  if (only !== undefined && !/^\d+(,\d+)*$/.test(only))
    throw new UsageError(`--only ${only} is not a list of numbers such as 3,7,12`);
  const [mode, others] = seed === undefined ? ['--minutes', OF_ONE] : ['--seed', OF_MANY];
  const lost = others.find(name => values[name] !== undefined);
  if (lost !== undefined) throw new UsageError(`--${lost} has no meaning with ${mode}`);
  const { playMany } = await import('./many.ts');
  const isGood =
    seed === undefined
      ? await playMany({
          from: whole('--from', from, Math.floor(Date.now() / 1_000)),
          minutes: positive('--minutes', minutes, 1),
          processes: whole('--processes', processes, availableParallelism()),
          ...{ say, failed: played => tell(played, `--seed ${played.seed} --shrink`) },
        })
      : await playOne(whole('--seed', seed, 1), only, show, isShrunk);
  return isGood ? 0 : 1;
});
