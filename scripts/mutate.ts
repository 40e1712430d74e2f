import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../test/support/random.ts';
import { UsageError } from './load/options.ts';
import { runScript, whole } from './usage.ts';

const HELP = `npm run mutate -- PATH... [options]: changes the code in one place at a time and says which changes no test notices

  PATH          a file of src/, or a folder for its files
  --tests GLOB  the tests to run; may be repeated. Default: the unit tests of the same folders
  --sample N    changes N stretches of five lines only, drawn at random
  --seed N      draws others; the same seed draws the same from the same code. Default: 1
`;

const STRETCH_LINES = 5;

await runScript('mutate', async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      tests: { type: 'string', multiple: true, default: [] },
      sample: { type: 'string' },
      seed: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  if (positionals.length === 0) throw new UsageError('no file of src/ is named');
  const paths = positionals.map(path => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new UsageError(`there is no ${path}`);
    return { path, isFolder: found.isDirectory() };
  });
  const own = paths.map(({ path, isFolder }) =>
    (isFolder ? path : dirname(path)).replace('src', 'test/unit'),
  );
  const files = paths.map(({ path, isFolder }) => (isFolder ? `${path}/**/*.ts` : path));
  const seed = whole('--seed', values.seed, 1);
  const mutated =
    values.sample === undefined ? files : drawn(files, whole('--sample', values.sample, 1), new Random(seed));
  const tests = values.tests.length > 0 ? values.tests : [...new Set(own)];
  const { status } = spawnSync('stryker', ['run', '--mutate', mutated.join()], {
    stdio: 'inherit',
    env: { ...process.env, WEIR_MUTATION_TESTS: tests.join('\n') },
  });
  return status ?? 1;
});

/** Stretches of lines of these files, as Stryker has them (`FILE:FIRST-LAST`), none twice. */
function drawn(globs: readonly string[], count: number, random: Random): readonly string[] {
  const left = globSync(globs).toSorted().flatMap(stretches);
  const some: string[] = [];
  while (some.length < count && left.length > 0) some.push(...left.splice(random.below(left.length), 1));
  return some;
}

function stretches(file: string): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n').length;
  return Array.from({ length: Math.ceil(lines / STRETCH_LINES) }, (_, i) => {
    const first = i * STRETCH_LINES + 1;
    return `${file}:${first}-${first + STRETCH_LINES - 1}`;
  });
}
