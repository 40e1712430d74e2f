import { totalmem } from 'node:os';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { loadConfig, type WorkersModel, workersInWords } from '../../../../src/config/index.ts';
import { type Files, thisMachine } from '../../../../src/core/index.ts';
import { diagnosticsIn, loadText, NEEDED } from '../../../support/config-text.ts';
import { tempText } from '../../../support/temp.ts';

async function workersOf(text: string, env = {}): Promise<WorkersModel> {
  const loaded = await loadText(NEEDED + text, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot.workers;
}

/** Compiles `workers: auto` on a machine that has these processors, and one control group with these limits. */
async function auto(processors: string, cpu: string, memory: string): Promise<string> {
  const machine: Readonly<Record<string, string>> = {
    '/proc/self/status': `Cpus_allowed_list:\t${processors}`,
    '/proc/self/cgroup': '0::/',
    '/sys/fs/cgroup/cpu.max': cpu,
    '/sys/fs/cgroup/memory.max': memory,
  };
  const path = await tempText('gateway.yaml', `${NEEDED}workers: auto\n`);
  const files: Files = {
    ...thisMachine.files,
    open: async name => {
      const text = machine[name];
      return thisMachine.files.open(text === undefined ? name : await tempText('file', text));
    },
  };
  const loaded = await loadConfig(path, { env: {}, generation: 1, files });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return workersInWords(loaded.snapshot.workers);
}

test('there is one worker unless the file says how many', async () => {
  expect(await workersOf('')).toEqual({ count: 1, why: null });
  expect(await workersOf('workers: 256\n')).toEqual({ count: 256, why: null });
});

test('a variable may say how many', async () => {
  expect(await workersOf(`workers: \${N}\n`, { N: '4' })).toEqual({ count: 4, why: null });
  expect(workersInWords(await workersOf(`workers: \${N}\n`, { N: 'auto' }))).toMatch(/^\d+ \(auto, /);
});

describe('workers: auto', () => {
  const GIB = 1024 ** 3;

  it('is the processors that the process may run on', async () => {
    expect(await auto('0-2', 'max 100000', 'max')).toBe('3 (auto, processors: 3)');
  });

  it('is the processor limit, rounded up', async () => {
    expect(await auto('0-7', '150000 100000', 'max')).toBe('2 (auto, processor limit: 1.5)');
    expect(await auto('0-7', '10000 100000', 'max')).toBe('1 (auto, processor limit: 0.1)');
  });

  it('is what the memory limit holds: 150 MiB, and 60 MiB a worker', async () => {
    expect(await auto('0-7', '600000 100000', `${512 * 1024 ** 2}`)).toBe('6 (auto, processor limit: 6)');
    expect(await auto('0-7', '600000 100000', `${450 * 1024 ** 2}`)).toBe('5 (auto, memory limit: 450 MiB)');
    expect(await auto('0-7', 'max 100000', `${64 * 1024 ** 2}`)).toBe('1 (auto, memory limit: 64 MiB)');
  });

  it('is one where the operating system does not spread connections over threads', async () => {
    const { platform } = process;
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    onTestFinished(() => void Object.defineProperty(process, 'platform', { value: platform }));
    expect(await auto('0-7', 'max 100000', 'max')).toBe(
      '1 (auto, the operating system spreads no connections)',
    );
  });

  it('is what the memory of the machine holds where a limit is above it', async () => {
    const fitting = Math.floor((totalmem() / 1024 ** 2 - 150) / 60);
    const expected = fitting < 256 ? `${fitting} (auto, memory: ` : '256 (auto, at most 256';
    expect(await auto('0-9999', 'max 100000', `${100_000 * GIB}`)).toContain(expected);
  });
});

describe('a number of workers that makes no sense is a mistake', () => {
  it.each([
    ['0', 'expected a whole number from 1 to 256, found 0'],
    ['257', 'expected a whole number from 1 to 256, found 257'],
    ['1.5', 'expected auto, or a whole number from 1 to 256, found 1.5'],
    ['many', 'expected auto, or a whole number from 1 to 256, found "many"'],
    ['"2"', 'expected auto, or a whole number from 1 to 256, found "2"'],
    ['true', 'expected auto, or a whole number from 1 to 256, found true'],
    ['', 'expected auto, or a whole number from 1 to 256, found nothing'],
  ])('%s', async (value, message) => {
    expect(await diagnosticsIn(`${NEEDED}workers: ${value}\n`)).toEqual([
      expect.stringMatching(/^3:\d+: workers: /),
    ]);
    expect((await diagnosticsIn(`${NEEDED}workers: ${value}\n`))[0]).toContain(message);
  });
});
