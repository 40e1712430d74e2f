import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

const TOKEN = `${'t'.repeat(42)}/==`;

function load(token: string | null) {
  const gateway = `listen: { admin: { address: "127.0.0.1:0", token_file: keys/admin } }\n${NEEDED}`;
  return loadFiles({ 'gateway.yaml': gateway, ...(token !== null && { 'keys/admin': token }) });
}

test('the hash of the admin token is all that a configuration keeps of it', async () => {
  const result = await load(`${TOKEN}\n`);
  expect(result.ok && result.snapshot.listen.admin?.tokenHash).toEqual(
    createHash('sha256').update(TOKEN).digest(),
  );
});

test('an admin token that can be guessed is an error, which does not show it', async () => {
  expect(diagnosticsOf(await load('t'.repeat(31)))).toEqual([
    'gateway.yaml:1:56: listen.admin.token_file: the token has fewer than 32 characters: generate one with "openssl rand -base64 32"',
  ]);
});

test.each([
  ['a blank', `${TOKEN.slice(4)} ${TOKEN}`],
  ['a second line', `${TOKEN.slice(4)}\n${TOKEN}`],
  ['a character that no field holds', `${'t'.repeat(40)}\u00fc`],
])('an admin token with %s cannot be sent, so it is an error', async (_what, token) => {
  expect(diagnosticsOf(await load(token))).toEqual([
    expect.stringContaining('1:56: listen.admin.token_file: the token must be one line of letters'),
  ]);
});

test('an admin token that cannot be read is an error', async () => {
  expect(diagnosticsOf(await load(null))).toEqual([
    expect.stringMatching(/^gateway\.yaml:1:56: listen\.admin\.token_file: no such file/),
  ]);
});
