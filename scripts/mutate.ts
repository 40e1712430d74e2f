import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from './load/options.ts';
import { runScript } from './usage.ts';

const HELP = `npm run mutate -- PATH... [options]: changes the code in one place at a time and says which changes no test notices

  PATH          a file of src/, or a folder for its files
  --tests GLOB  the tests to run; may be repeated. Default: the unit tests of the same folders
`;

await runScript('mutate', async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { tests: { type: 'string', multiple: true, default: [] }, help: { type: 'boolean' } },
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
  const mutated = paths.map(({ path, isFolder }) => (isFolder ? `${path}/**/*.ts` : path));
  const tests = values.tests.length > 0 ? values.tests : [...new Set(own)];
  const { status } = spawnSync('stryker', ['run', '--mutate', mutated.join()], {
    stdio: 'inherit',
    env: { ...process.env, WEIR_MUTATION_TESTS: tests.join('\n') },
  });
  return status ?? 1;
});
