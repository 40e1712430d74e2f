import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { fill, smallDisk } from './disk.ts';
import { expectAtRest, underFault, waitFor } from './fault.ts';
import { front } from './front.ts';
import { tell } from './table.ts';

/** Full as soon as nothing is being written: what takes the place of a file gives its room back. */
const full = (folder: string) => ({
  bringAbout: () => fill(join(folder, 'filler')),
  end: () => rmSync(join(folder, 'filler')),
});

const readOnly = (folder: string) => ({
  bringAbout() {
    try {
      execFileSync('mount', ['-o', 'remount,ro', folder], { stdio: 'pipe' });
    } catch (error) {
      // A file is being written.
      expect(String(error)).toContain('busy');
    }
  },
  end: () => execFileSync('mount', ['-o', 'remount,rw', folder]),
});

test.each([
  ['The disk of `state` is full', full],
  ['The disk of `state` becomes read-only', readOnly],
])('%s', async (name, trouble) => {
  const folder = await smallDisk();
  const file = join(folder, 'weir.counters');
  // Each request changes a counter that is kept.
  const limits = await tempText('limits.yaml', 'global: { address: 65535/1h }');
  const { gateway, load } = await front({}, {}, { limits, state: { folder, counters: '1h' } });
  await waitFor('counters are written', () => {
    try {
      return readFileSync(file).length > 0;
    } catch {
      return false;
    }
  });
  const { bringAbout, end } = trouble(folder);
  const times = (message: string) => gateway.output.split(`"msg":"${message}`).length - 1;
  const saved = await tempFolder();
  const seen = await underFault(load, {
    begin: bringAbout,
    isNoticed: () => {
      bringAbout();
      return times('the counters file cannot be written') === 1;
    },
    meanwhile: async () => copyFileSync(file, join(saved, 'weir.counters')),
    end,
    isHealed: () => times('the counters file is written again') === 1,
  });
  await expectAtRest(load, [gateway]);
  expect(times('the counters file cannot be written')).toBe(1);
  // What was on the disk meanwhile is whole.
  const next = await startGateway({
    upstreamPort: 1,
    config: { limits, state: { folder: saved, counters: '1h' }, log: { level: 'info' } },
  });
  await waitFor('it is read', () => /"counters":[1-9]/.test(next.logLines.join('')));
  tell(name, seen);
});
