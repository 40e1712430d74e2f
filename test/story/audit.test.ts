import { spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { CHECKOUT } from '../support/packed.ts';
import { tempFolder } from '../support/temp.ts';

const hole = (severity: string) => ({ vulnerabilities: { yaml: { name: 'yaml', severity, range: '<2.9' } } });

/** Runs the audit with an npm that prints this. */
async function audit(printed: unknown, ...args: string[]) {
  const folder = await tempFolder();
  const npm = join(folder, 'npm');
  const script = `case "$1" in audit) echo '${JSON.stringify(printed)}'; exit 1;; *) echo 'zod 1 2';; esac`;
  await writeFile(npm, `#!/bin/sh\n${script}\n`);
  await chmod(npm, 0o755);
  const env = { PATH: [folder, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter) };
  const { status, stdout } = spawnSync(process.execPath, ['scripts/audit.ts', ...args], {
    cwd: CHECKOUT,
    env,
    encoding: 'utf8',
  });
  return { status, stdout };
}

test.each(['moderate', 'high', 'critical'])(
  'a %s hole in what runs in production fails the audit',
  async level => {
    const { status, stdout } = await audit(hole(level));
    expect(status).toBe(1);
    expect(stdout).toContain(`${level}: yaml <2.9`);
  },
);

test('a hole of low severity does not, and newer versions are listed', async () => {
  const { status, stdout } = await audit(hole('low'));
  expect(status).toBe(0);
  expect(stdout).toContain('Newer versions:\nzod 1 2');
});

test('a registry that does not answer is named, and fails the audit of a release alone', async () => {
  const silent = { message: '405 Method Not Allowed' };
  expect(await audit(silent)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('NOT AUDITED: the registry does not answer (405 Method Not Allowed)'),
  });
  expect(await audit(silent, '--required')).toMatchObject({ status: 1 });
});
