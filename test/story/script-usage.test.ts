import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { positive, whole } from '../../scripts/usage.ts';

test.each([
  ['test/world/main.ts', ['--seed', '1', '--minutes', '1'], 'world: --minutes has no meaning with --seed'],
  ['scripts/mutate.ts', ['--sed', '1'], "mutate: Unknown option '--sed'"],
  ['scripts/fuzz-readers.ts', ['nothing'], 'fuzz: there is no kind "nothing", but requests,'],
  ['scripts/mutate.ts', [], 'mutate: no file of src/ is named'],
  [
    'scripts/soak.ts',
    ['--draw', '/nowhere'],
    'soak: --draw /nowhere is no folder of a run: it has no samples.jsonl',
  ],
])('%s says in one line what is wrong with %j, and how to ask for help', (script, args, line) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  expect({ status, stdout, lines: stderr.split('\n').length }).toEqual({ status: 64, stdout: '', lines: 3 });
  expect(stderr.startsWith(line)).toBe(true);
  expect(stderr).toMatch(/\nRun "npm run \w+ -- --help" for usage\.\n$/);
});

test.each(['x', '0', '-1', '1e3', ''])('an option of a script that is a number is not %j', text => {
  expect(() => positive('--hours', text, 1)).toThrow(`--hours ${text} is not a number above 0`);
});

test('an option that is a whole number has no fraction, and is counted exactly', () => {
  for (const text of ['1.5', '9007199254740993'])
    expect(() => whole('--seed', text, 1)).toThrow(`--seed ${text} is not a whole number, or too large`);
  expect([whole('--seed', '7', 1), whole('--seed', undefined, 1)]).toEqual([7, 1]);
});
