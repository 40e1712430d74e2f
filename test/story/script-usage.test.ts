import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test.each([
  ['test/world/main.ts', ['--seed', 'x'], 'world: --seed x is not a number above 0'],
  ['test/world/main.ts', ['--seed', '1.5'], 'world: --seed 1.5 is not a whole number, or too large'],
  ['test/world/main.ts', ['--seed', '1', '--minutes', '1'], 'world: --minutes has no meaning with --seed'],
  ['test/world/main.ts', ['--minutes', '1', '--shrink'], 'world: --shrink has no meaning with --minutes'],
  ['test/world/main.ts', ['--sed', '1'], "world: Unknown option '--sed'"],
  ['scripts/fuzz-readers.ts', ['nothing'], 'fuzz: there is no kind "nothing", but requests,'],
  ['scripts/mutate.ts', [], 'mutate: no file of src/ is named'],
  ['scripts/soak.ts', ['--workers', '1.5'], 'soak: --workers 1.5 is not a whole number, or too large'],
  [
    'scripts/soak.ts',
    ['--draw', '/nowhere'],
    'soak: --draw /nowhere is no folder of a run: it has no samples.jsonl',
  ],
  ['scripts/soak.ts', ['--hours', '0'], 'soak: --hours 0 is not a number above 0'],
])('%s says in one line what is wrong with %j, and how to ask for help', (script, args, line) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  expect({ status, stdout, lines: stderr.split('\n').length }).toEqual({ status: 64, stdout: '', lines: 3 });
  expect(stderr.startsWith(line)).toBe(true);
  expect(stderr).toMatch(/\nRun "npm run \w+ -- --help" for usage\.\n$/);
});
