// Plays random runs whole, and what starts programs of others: npm run test:long -- --help
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import { Random } from '../test/support/random.ts';
import { positive, runScript, whole } from './usage.ts';

const HELP = `npm run test:long -- [FILTER...] [--minutes N] [--seed N]

Runs what is too long for "npm test": the files of test/long/, and ten times as much of every random run (test/support/runs.ts).

  FILTER     only files whose path contains it
  --minutes  the budget: files begin in an order of the seed until it is spent, and those that are left are named. If all were
             run, the random ones begin anew with other seeds. Default: each file once
  --seed     of random runs, and of the order; one of the day if it is not said

WEIR_LONG=10 plays ten times as much again. Ends with 1 if a test failed.`;

/** So many files are begun together: the fewer, the closer the budget is met, and the longer the cores wait for the slowest. */
const TOGETHER = 8;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Days that follow each other have seeds far apart: the cases of a run have the numbers after its seed. */
function seedOfTheDay(): number {
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  return nextSeed(Number(day));
}

function nextSeed(seed: number): number {
  return new Random(seed).below(2 ** 31);
}

function shuffled<T>(all: readonly T[], seed: number): T[] {
  const random = new Random(seed);
  return all
    .map(one => ({ one, rank: random.next() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ one }) => one);
}

/** Runs these files until the budget is spent. Returns what failed, and the files that were not begun. */
async function runAll(vitest: Vitest, files: readonly TestSpecification[], endsAt: number) {
  const failed: string[] = [];
  let at = 0;
  while (at < files.length && Date.now() < endsAt) {
    // Without a budget nothing has to end early.
    const next = files.slice(at, at + (endsAt === Number.POSITIVE_INFINITY ? files.length : TOGETHER));
    at += next.length;
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(next);
    for (const module of testModules) {
      const path = relative('.', module.moduleId);
      const tests = [...module.children.allTests('failed')].map(({ fullName }) => `${path}: ${fullName}`);
      if (!module.ok()) failed.push(...(tests.length > 0 ? tests : [path]));
    }
    if (failed.length === 0 && unhandledErrors.length > 0)
      failed.push('an error that no test caught, see above');
  }
  return { failed, left: files.slice(at) };
}

await runScript('test:long', async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { minutes: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    say(HELP);
    return 0;
  }
  const minutes = positive('--minutes', values.minutes, Number.POSITIVE_INFINITY);
  const endsAt = Date.now() + minutes * 60_000;
  let seed = whole('--seed', values.seed, seedOfTheDay());
  process.env['WEIR_LONG'] ??= '1';
  const vitest = await createVitest({ config: 'test/long/vitest.config.ts', watch: false });
  await vitest.standalone();
  try {
    let files = shuffled(await vitest.globTestSpecifications(positionals), seed);
    for (;;) {
      process.env['WEIR_SEED'] = String(seed);
      say(`${files.length} files with seed ${seed}`);
      const { failed, left } = await runAll(vitest, files, endsAt);
      for (const { moduleId } of left) say(`left for another day: ${relative('.', moduleId)}`);
      // Last, where people and pages of CI look first.
      for (const one of failed) say(`failed: ${one}`);
      if (failed.length > 0) return 1;
      files = files.filter(({ project }) => project.name === 'random');
      if (minutes === Number.POSITIVE_INFINITY || Date.now() >= endsAt || files.length === 0) return 0;
      seed = nextSeed(seed);
    }
  } finally {
    await vitest.close();
  }
});
