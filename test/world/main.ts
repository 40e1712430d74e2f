import { execFileSync } from 'node:child_process';
import { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { UsageError } from '../../scripts/load/options.ts';
import { positive, runScript } from '../../scripts/usage.ts';
import { type Outcome, play } from './play.ts';
import { playOnly, shrink } from './shrink.ts';

const HELP = `npm run world -- [options]: plays worlds of whole gateways, each fixed by a seed, and judges them

  --seed N       plays one world
  --show         prints its history
  --only 3,7,12  lets only these steps of its plan happen
  --shrink       finds the fewest steps with which it still fails
  --minutes M    plays one world after the other for so long
  --from N       begins with this seed. Default: by the clock

A failure ends with exit code 1. README.md beside this file says what lives in a world, and who judges.
`;

const say = (line: string) => void stdout.write(`${line}\n`);

const commit = () => execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();

/** Tells what became of a world. The last line is the same whenever the seed and the code are. */
function tell(outcome: Outcome, replay: string): void {
  for (const { oracle, what, atMs } of outcome.findings) say(`${atMs.toFixed(3)} ${oracle}: ${what}`);
  if (outcome.findings.length > 0) say(`replay: npm run world -- ${replay}`);
  say(`seed ${outcome.seed} commit ${commit()} history ${outcome.digest}`);
}

async function playSeeds(from: number, minutes: number): Promise<boolean> {
  const beganMs = performance.now();
  let nextMs = 0;
  let [played, failed, requests] = [0, 0, 0];
  for (let seed = from; ; seed++) {
    const spentMs = performance.now() - beganMs;
    const isOver = spentMs >= minutes * 60_000;
    if (spentMs >= nextMs || isOver) {
      const rate = ((1_000 * played) / Math.max(spentMs, 1)).toFixed(2);
      say(`${played} worlds, ${failed} failed, ${requests} requests, ${rate} worlds/s, next seed ${seed}`);
      nextMs = spentMs + 10_000;
    }
    if (isOver) return failed === 0;
    const outcome = await play(seed);
    played++;
    requests += outcome.requests;
    if (outcome.findings.length === 0) continue;
    failed++;
    tell(outcome, `--seed ${seed} --shrink`);
  }
}

async function playOne(
  seed: number,
  only: string | undefined,
  isShown: boolean,
  isShrunk: boolean,
): Promise<boolean> {
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
      help: { type: 'boolean' },
    },
  });
  const { seed, minutes, from, only, show = false, shrink: isShrunk = false, help } = values;
  if (help === true || (seed === undefined && minutes === undefined)) {
    say(HELP);
    return 0;
  }
  if (only !== undefined && !/^\d+(,\d+)*$/.test(only))
    throw new UsageError(`--only ${only} is not a list of numbers such as 3,7,12`);
  const isGood =
    seed === undefined
      ? await playSeeds(
          positive('--from', from, Math.floor(Date.now() / 1_000)),
          positive('--minutes', minutes, 1),
        )
      : await playOne(positive('--seed', seed, 1), only, show, isShrunk);
  return isGood ? 0 : 1;
});
