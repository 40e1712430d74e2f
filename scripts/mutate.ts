// Changes the code in one place at a time and says which changes no test notices:
// npm run mutate -- src/http1/request-framing.ts [src/...] [--tests 'test/unit/http1/request-*.test.ts' ...]
// It runs the tests that are named, else the unit tests of the same folders. A folder stands for its files.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string', multiple: true, default: [] } },
});
if (positionals.length === 0) throw new Error('say which files of src/ are to be changed');
const isFolder = (path: string) => statSync(path).isDirectory();
const own = positionals.map(path => (isFolder(path) ? path : dirname(path)).replace('src', 'test/unit'));
const mutated = positionals.map(path => (isFolder(path) ? `${path}/**/*.ts` : path));
const tests = values.tests.length > 0 ? values.tests : [...new Set(own)];
const { status } = spawnSync('stryker', ['run', '--mutate', mutated.join()], {
  stdio: 'inherit',
  env: { ...process.env, WEIR_MUTATION_TESTS: tests.join('\n') },
});
process.exitCode = status ?? 1;
