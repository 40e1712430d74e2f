import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../../src/config/index.ts';
import { Turns } from '../../../../src/core/index.ts';
import { loadInThread } from '../../../../src/process/loading/index.ts';
import { NEEDED, ROOMY } from '../../../support/config-text.ts';
import { tempText } from '../../../support/temp.ts';
import { waitFor } from '../../../support/wait.ts';

const load = loadInThread(new URL('../../../support/loading-thread.ts', import.meta.url));
const options = { env: {}, generation: 2, machine: ROOMY };

test('a thread of its own reads and checks the files, and this one takes over what changed', async () => {
  const path = await tempText('gateway.yaml', `${NEEDED}caps: { requests: 77 }\n`);
  const here = await loadConfig(path, options);
  if (!here.ok) throw new Error('it has errors');
  const turns = new Turns();
  const there = await load(path, { ...options, before: here.snapshot, turns });
  if (!there.ok) throw new Error('it has errors there');
  expect(there.snapshot.caps).toEqual(here.snapshot.caps);
  expect(there.snapshot.routes).toBe(here.snapshot.routes);
  expect(there.readings.equals(here.readings)).toBe(true);
  expect(there.data.routes).toEqual(here.data.routes);
  expect([there.warnings, there.hints, there.files]).toEqual([here.warnings, here.hints, here.files]);
  expect(turns.longestMs).toBeGreaterThan(0);
});

test('errors of the files are the same from there', async () => {
  const path = await tempText('gateway.yaml', `${NEEDED}caps: { request: 77 }\n`);
  const [here, there] = [await loadConfig(path, options), await load(path, options)];
  if (here.ok || there.ok) throw new Error('it has no errors');
  expect(there.diagnostics).toEqual(here.diagnostics);
  expect(there.readings.equals(here.readings)).toBe(true);
});

test.each([
  ['at once', 'the thread that reads it died: it ended with code 3'],
  ['with a fault', 'the thread that reads it died: a fault of a test'],
])('a thread that dies %s is an error with its cause', async (dies, message) => {
  const path = await tempText('gateway.yaml', NEEDED);
  await expect(load(path, { ...options, env: { DIES: dies } })).rejects.toThrow(message);
});

test.runIf(process.platform === 'linux')('it lets the threads that serve go first', async () => {
  const pipe = `${await tempText('text', '')}.pipe`;
  execFileSync('mkfifo', [pipe]);
  const loading = load(pipe, { ...options, generation: 1 });
  await waitFor('a thread has a lower priority', () => priorities().includes(10));
  // That of this process, which may itself have given way.
  expect(priorities()).toContain(getPriority());
  await writeFile(pipe, NEEDED);
  expect((await loading).ok).toBe(true);
});

/** How nice each thread of this process is (proc_pid_stat(5)). */
function priorities(): number[] {
  return readdirSync('/proc/self/task').flatMap(thread => {
    try {
      const [, fields = ''] = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ');
      return [Number(fields.split(' ')[16])];
    } catch {
      // It has ended since the list was read.
      return [];
    }
  });
}
