import { unlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { loadFiles, NEEDED } from '../../../support/config-text.ts';

const GATEWAY = `${NEEDED}limits: limits.yaml\nlog: { pseudonym_key_file: key }\n`;
const FILES = { 'gateway.yaml': GATEWAY, 'limits.yaml': 'global: off\n', key: 'k'.repeat(32) };

async function hashOf(files: Readonly<Record<string, string>>): Promise<string> {
  const result = await loadFiles({ ...FILES, ...files });
  if (!result.ok) throw new Error('errors');
  return result.snapshot.hash;
}

describe('the hash of a configuration', () => {
  it('is the same for the same content, wherever it is', async () => {
    expect(await hashOf({})).toBe(await hashOf({}));
    expect(await hashOf({})).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is another when the limits are', async () => {
    expect(await hashOf({ 'limits.yaml': 'global: off\n\n' })).not.toBe(await hashOf({}));
  });

  it('reveals eight bits of the secrets in all, too few to test a guess', async () => {
    const keys = Array.from({ length: 40 }, (_, n) => String(n).padEnd(32, 'x'));
    const hashes = await Promise.all(keys.map(key => hashOf({ key })));
    expect(new Set(hashes.map(hash => hash.slice(0, 14))).size).toBe(1);
    expect(new Set(hashes).size).toBeGreaterThan(20);
  });
});

describe('two loads', () => {
  it('have read the same when every file and secret holds the same', async () => {
    const readings = async (files: Readonly<Record<string, string>>) =>
      (await loadFiles({ ...FILES, ...files })).readings;
    const first = await readings({});
    expect((await first.again()).equals(first)).toBe(true);
    // Another folder.
    expect((await readings({})).equals(first)).toBe(false);
  });

  it('differ by the reason for which a file cannot be read', async () => {
    const { readings } = await loadFiles({ 'gateway.yaml': NEEDED });
    const [path = ''] = readings.followed.files;
    await writeFile(path, Buffer.of(0xff));
    const broken = await readings.again();
    await unlink(path);
    const missing = await readings.again();
    expect([broken.equals(readings), missing.equals(broken), missing.equals(await missing.again())]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
