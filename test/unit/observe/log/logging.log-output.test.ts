import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

const FOLDER = new URL('../../../../src/', import.meta.url).href;
const MODULE = `${FOLDER}observe/log/standard-output.ts`;

/** Runs `body` in a process of its own, with `output` to write to, and returns the lines of its standard output. */
function linesOf(body: string): string[] {
  const script = `
    import { standardOutput } from ${JSON.stringify(MODULE)};
    const output = standardOutput();
    ${body}`;
  const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return child.stdout.split('\n').slice(0, -1);
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));

test.each([
  ['runs out of work', ''],
  ['is ended', 'process.exit(3);'],
  ['dies of an error', "throw new Error('dead');"],
])('every line is written, in order, when the process %s at once', (_, end) => {
  const lines = linesOf(`for (let i = 0; i < 1_000; i++) output.write(i + '\\n');\n${end}`);
  expect(lines).toEqual(numbers(1_000));
});

test('every line is written, in order, when much was written, and the process is ended a moment after more', () => {
  const lines = linesOf(`
    for (let i = 0; i < 50_000; i++) output.write(i + '\\n');
    while (!(await output.flush()));
    for (let i = 50_000; i < 50_100; i++) output.write(i + '\\n');
    process.exit(3);`);
  expect(lines).toEqual(numbers(50_100));
});

test('flushed is what was written before', () => {
  const write = "for (let i = 0; i < 2_000; i++) output.write(String(i).padStart(500) + '\\n');";
  const lines = linesOf(`${write} while (!(await output.flush())); process.kill(process.pid, 'SIGKILL');`);
  expect(lines).toEqual(numbers(2_000).map(number => number.padStart(500)));
});

test('a line that nothing follows is written while the process goes on', async () => {
  const script = `
    import { standardOutput } from ${JSON.stringify(MODULE)};
    standardOutput().write('a\\n');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  const [text] = await once(child.stdout, 'data');
  child.kill('SIGKILL');
  expect(String(text)).toBe('a\n');
});

test('what a reader is too slow for is dropped by whole lines, and the rest is bounded', () => {
  const lines = linesOf(
    // Ends in the same turn, as late in it as on a busy machine: a reader that had made room before would rightly get the last lines.
    `const long = 'é'.repeat(500);
    for (let i = 0; i < 40_000; i++) output.write(i + long + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    process.exit();`,
  );
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  expect(bytes).toBeLessThan(18 * 2 ** 20);
  // The process ends in the middle of a line if a busy machine does not let the reader read in time.
  const whole = lines.slice(0, -1);
  expect(whole).toEqual(numbers(whole.length).map(number => `${number}${'é'.repeat(500)}`));
  expect(whole.length).toBeGreaterThan(50);
});

test('a line stands where lines are missing, with their number, and what comes later is written', async () => {
  const script = `
    import { standardOutput } from '${MODULE}';
    const output = standardOutput();
    const long = 'x'.repeat(1_000);
    let next = 0;
    const write = () => output.write(JSON.stringify({ next: next++, long }) + '\\n');
    while (output.losses.linesDropped < 200) write();
    console.error('full');
    while (!(await output.flush()));
    for (let i = 0; i < 3; i++) write();
    while (!(await output.flush()));
    console.error(output.losses.linesDropped, next);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  let said = '';
  child.stderr.on('data', text => (said += text));
  await once(child.stderr, 'data');
  let out = '';
  // Nothing was read up to here.
  child.stdout.on('data', text => (out += text));
  await once(child, 'close');
  const lines = out
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line));
  const at = lines.findIndex(({ type }) => type === 'log');
  const [, dropped = 0, written = 0] = /full\n(\d+) (\d+)\n/.exec(said)?.map(Number) ?? [];
  expect(lines[at]).toMatchObject({ level: 'warn', linesDropped: dropped });
  const kept = lines.filter(line => line !== lines[at]).map(({ next }) => next);
  expect(kept.slice(0, at)).toEqual(numbers(at).map(Number));
  expect(kept.slice(at)).toEqual(numbers(written - at - dropped).map(i => Number(i) + at + dropped));
  expect(dropped).toBeGreaterThanOrEqual(200);
});

test('the process ends although a write blocks for good', async () => {
  const script = `
    import { LogOutput } from '${FOLDER}observe/log/logging.ts';
    import { systemClock } from '${FOLDER}core/index.ts';
    const output = new LogOutput(1, systemClock);
    for (let i = 0; i < 1_000; i++) output.write('x'.repeat(1_000) + '\\n');
    while (output.losses.trouble === null) await output.flush();
    console.error(output.losses.trouble.cause);
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  child.stdout.pause();
  let said = '';
  child.stderr.on('data', text => (said += text));
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  child.stdout.destroy();
  expect(said).toBe('a write does not end\n');
});
