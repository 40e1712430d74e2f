import { describe, expect, it } from 'vitest';
import { loadConfig, type Snapshot } from '../../../../src/config/index.ts';
import type { Machine } from '../../../../src/core/index.ts';
import { diagnosticsIn, NEEDED } from '../../../support/config-text.ts';
import { tempText } from '../../../support/temp.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

async function snapshotOn(machine: Partial<Machine>, text: string, env = {}): Promise<Snapshot> {
  const path = await tempText('gateway.yaml', NEEDED + text);
  const whole = {
    ...{ processors: 4, sharesPorts: true, processorLimit: Infinity },
    ...{ memoryBytes: 64 * GIB, memoryLimitBytes: Infinity },
    ...machine,
  };
  const loaded = await loadConfig(path, { env, generation: 1, machine: whole });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

const limited = (mib: number) => ({ memoryLimitBytes: mib * MIB });

describe('caps.buffered', () => {
  const bufferedOn = async (machine: Partial<Machine>, text = '', env = {}) =>
    (await snapshotOn(machine, text, env)).caps.bufferedBytes / MIB;

  it('is a quarter of the memory that the process may use', async () => {
    expect(await bufferedOn(limited(1_024))).toBe(256);
    expect(await bufferedOn({ memoryBytes: 3 * GIB })).toBe(768);
    expect(await bufferedOn({ memoryBytes: 1 * GIB, ...limited(2_048) })).toBe(256);
  });

  it('is at least 64 MiB and at most 1 GiB', async () => {
    expect(await bufferedOn(limited(128))).toBe(64);
    expect(await bufferedOn({})).toBe(1_024);
  });

  it('is what the file says', async () => {
    expect(await bufferedOn(limited(1_024), 'caps: { buffered: 1MiB }\n')).toBe(1);
    expect(await bufferedOn(limited(1_024), `caps: { buffered: "\${B}" }\n`, { B: '2GiB' })).toBe(2_048);
  });

  it('keeps what the file says of other caps, variables included', async () => {
    const { caps } = await snapshotOn(limited(1_024), `caps: { requests: "\${N}", fields: 50 }\n`, {
      N: '7',
    });
    expect(caps).toMatchObject({ requests: 7, fields: 50, bufferedBytes: 256 * MIB });
  });

  it('is at least a MiB, in words', async () => {
    expect(await diagnosticsIn(`${NEEDED}caps: { buffered: 1023KiB }\n`)).toEqual([
      '3:19: caps.buffered: expected a size from 1MiB to 1024GiB, found "1023KiB"',
    ]);
    expect(await diagnosticsIn(`${NEEDED}caps: { buffered: }\n`)).toEqual([
      expect.stringContaining('caps.buffered: expected a size such as'),
    ]);
  });
});
