// Changes the code in one place at a time and says which changes no test notices:
// npm run mutate -- src/http1/request-framing.ts [src/...] [--tests test/unit/server ...]
// It runs the unit tests of the files' own rooms, and those that are named. A folder of sources stands for its files.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string', multiple: true, default: [] } },
});
if (positionals.length === 0) throw new Error('say which files of src/ are to be changed');
const own = positionals.map(path => `test/unit/${path.split('/')[1]}`);
const mutated = positionals.map(path => (statSync(path).isDirectory() ? `${path}/**/*.ts` : path));
const { status } = spawnSync('stryker', ['run', '--mutate', mutated.join()], {
  stdio: 'inherit',
  env: { ...process.env, WEIR_MUTATION_TESTS: [...new Set([...own, ...values.tests])].join() },
});
process.exitCode = status ?? 1;
