import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('everything generated of the chart is up to date', async () => {
  const { stderr } = await promisify(execFile)(process.execPath, ['scripts/chart.ts', '--check']).catch(
    failed => failed,
  );
  expect(stderr).toBe('');
});
