import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { documentNamed } from '../support/documents.ts';
import { ensureInstalled } from '../support/installed.ts';
import { CHECKOUT } from '../support/packed.ts';
import { tempText } from '../support/temp.ts';

const UNIT = readFileSync(join(CHECKOUT, 'systemd/weir.service'), 'utf8');

/** The unit where its programs are on this machine. */
const UNIT_HERE = UNIT.replace('/usr/bin/node', process.execPath).replace('/bin/kill', '/bin/sh');

beforeAll(() =>
  ensureInstalled({ command: 'systemd-analyze', versionArgs: ['--version'], packages: ['systemd'] }),
);

describe('the systemd unit', () => {
  it('has no directive that systemd does not understand', async () => {
    const file = await tempText('weir.service', UNIT_HERE);
    expect(analyze('verify', '--man=no', file)).toEqual({ status: 0, output: '' });
  });

  it('is hardened: an exposure of at most 1.5, where 0 is safest and 10 is not hardened', async () => {
    const file = await tempText('weir.service', UNIT_HERE);
    expect(analyze('security', '--offline=true', '--threshold=15', file)).toMatchObject({ status: 0 });
  });

  it('lets the thread that reads a configuration lower its priority', async () => {
    const file = await tempText('weir.service', UNIT_HERE);
    expect(analyze('security', '--offline=true', file).output).toContain('setpriority is allowed');
  });

  it('has a template for several on one machine, which differs by the instance alone', async () => {
    const template = readFileSync(join(CHECKOUT, 'systemd/weir@.service'), 'utf8');
    const here = template.replace('/usr/bin/node', process.execPath).replace('/bin/kill', '/bin/sh');
    const file = await tempText('weir@01.service', here);
    expect(analyze('verify', '--man=no', file)).toEqual({ status: 0, output: '' });
    const directives = (unit: string) => unit.split('\n').filter(line => !line.startsWith('#'));
    expect(directives(template).filter(line => !/^Environment=WEIR_INSTANCE=%i$/.test(line))).toEqual(
      directives(UNIT).map(line =>
        line.replace(/^Description=Weir gateway$/, '$& %i').replace(/^StateDirectory=weir$/, '$&/%i'),
      ),
    );
  });

  it('starts Node.js with the memory settings of the image', () => {
    const image = readFileSync(join(CHECKOUT, 'Dockerfile'), 'utf8');
    const options = '--max-semi-space-size=16 --v8-pool-size=0';
    expect(image.split('\n')).toContain(`ENV NODE_OPTIONS="${options}"`);
    expect(UNIT.split('\n')).toContain(`Environment="NODE_OPTIONS=${options}"`);
    expect(image.split('\n')).toContain('ENV MALLOC_TRIM_THRESHOLD_=131072');
    expect(UNIT.split('\n')).toContain('Environment=MALLOC_TRIM_THRESHOLD_=131072');
  });

  it('does not restart after the exit codes that a restart cannot mend', () => {
    expect(UNIT).toMatch(/^RestartPreventExitStatus=64 78$/m);
    const { prose } = documentNamed('docs/operations.md');
    expect(prose).toMatch(/^\| 64 \| the command line is invalid \|$/m);
    expect(prose).toMatch(/^\| 78 \| the configuration has errors/m);
  });

  it('reads variables and settings at the places that its document names', () => {
    const { text } = documentNamed('docs/systemd.md');
    const [, file = ''] = /^EnvironmentFile=-(.+)$/m.exec(UNIT) ?? [];
    expect(text).toContain(file);
    const [, seconds = ''] = /^TimeoutStopSec=(\d+)$/m.exec(UNIT) ?? [];
    expect(text).toContain(`\`TimeoutStopSec\` (${seconds} s)`);
  });
});

/** Warnings are on standard error and leave the exit code 0. */
function analyze(...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['--no-pager', ...args], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}
