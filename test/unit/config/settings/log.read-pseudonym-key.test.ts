import { expect, test } from 'vitest';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

const KEY = 'b'.repeat(32);

function load(key: string | null) {
  const gateway = `log: { pseudonym_key_file: keys/log }\n${NEEDED}`;
  return loadFiles({ 'gateway.yaml': gateway, ...(key !== null && { 'keys/log': key }) });
}

test('the key of the names in the log is the text of its file', async () => {
  const result = await load(`${KEY}\n`);
  expect(result.ok && result.snapshot.log).toMatchObject({
    level: 'info',
    access: true,
    pseudonymKey: Buffer.from(KEY),
  });
});

test('a key that can be guessed is an error, which does not show it', async () => {
  expect(diagnosticsOf(await load(KEY.slice(1)))).toEqual([
    'gateway.yaml:1:28: log.pseudonym_key_file: the key has fewer than 32 characters: generate one with "openssl rand -base64 32"',
  ]);
});

test('a key that cannot be read is an error', async () => {
  expect(diagnosticsOf(await load(null))).toEqual([
    expect.stringMatching(/^gateway\.yaml:1:28: log\.pseudonym_key_file: no such file/),
  ]);
  expect(diagnosticsOf(await load(''))).toEqual([
    'gateway.yaml:1:28: log.pseudonym_key_file: the file is empty',
  ]);
});

test('a key in place of its file is an error, which does not show it', async () => {
  const gateway = `log: { pseudonym_key_file: "-----BEGIN KEY" }\n${NEEDED}`;
  expect(diagnosticsOf(await loadFiles({ 'gateway.yaml': gateway }))).toEqual([
    'gateway.yaml:1:28: log.pseudonym_key_file: write the path of the file here, not its content',
  ]);
});
