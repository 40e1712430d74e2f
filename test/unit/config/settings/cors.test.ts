import { expect, test } from 'vitest';
import type { Snapshot } from '../../../../src/config/index.ts';
import { diagnosticsIn, loadText, NEEDED } from '../../../support/config-text.ts';

async function corsOf(value: string): Promise<Snapshot['cors']> {
  const result = await loadText(`cors: ${value}\n${NEEDED}`);
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result.snapshot.cors;
}

test('cors is off when it says so, as without it', async () => {
  expect(await corsOf('off')).toBeNull();
});

test('cors has every default in the reference', async () => {
  expect(await corsOf('{ origins: [https://app.example.com] }')).toEqual({
    origins: new Set(['https://app.example.com']),
    allowHeaders: null,
    exposeHeaders: [],
    credentials: false,
    maxAgeS: 3_600,
    policies: false,
    proofs: false,
  });
});

test('cors has what the file says in the place of a default', async () => {
  const text =
    '{ origins: ["http://localhost:3000", "https://[::1]", "app://-"], allow_headers: [Authorization], expose_headers: [Location], credentials: true, max_age: 90500ms }';
  expect(await corsOf(text)).toEqual({
    origins: new Set(['http://localhost:3000', 'https://[::1]', 'app://-']),
    allowHeaders: ['Authorization'],
    exposeHeaders: ['Location'],
    credentials: true,
    maxAgeS: 90,
    policies: false,
    proofs: false,
  });
  expect(await corsOf('{ origins: any, allow_headers: any }')).toMatchObject({
    origins: null,
    allowHeaders: null,
  });
});

const ORIGIN =
  'expected an origin such as https://app.example.com, in lower case and without a path, or any in place of the list';

test.each([
  [
    '{}',
    '1:7: cors: missing key "origins": expected any, or a list of origins such as [https://app.example.com]',
  ],
  ['on', '1:7: cors: expected off, or a map such as { origins: [https://app.example.com] }, found "on"'],
  ['{ origins: [] }', '1:18: cors.origins: an empty list allows no page: leave out "cors" instead'],
  ['{ origins: [app.example.com] }', `1:19: cors.origins[0]: ${ORIGIN}, found "app.example.com"`],
  [
    '{ origins: [https://App.example.com] }',
    `1:19: cors.origins[0]: ${ORIGIN}, found "https://App.example.com"`,
  ],
  ['{ origins: [https://a.example/] }', `1:19: cors.origins[0]: ${ORIGIN}, found "https://a.example/"`],
  ['{ origins: ["null"] }', `1:19: cors.origins[0]: ${ORIGIN}, found "null"`],
  ['{ origins: ["*"] }', `1:19: cors.origins[0]: ${ORIGIN}, found "*"`],
  [
    '{ origins: ["https://*.example.com"] }',
    `1:19: cors.origins[0]: ${ORIGIN}, found "https://*.example.com"`,
  ],
  [
    '{ origins: ["https://a:443"] }',
    '1:19: cors.origins[0]: browsers leave out the default port: write the origin without it',
  ],
  [
    '{ origins: ["http://a:80"] }',
    '1:19: cors.origins[0]: browsers leave out the default port: write the origin without it',
  ],
  [
    '{ origins: any, credentials: true }',
    '1:36: cors.credentials: list the origins when credentials is true: with "any", every web page could act on behalf of its visitors',
  ],
  [
    '{ origins: any, allow_header: [X-A] }',
    '1:23: cors: unknown key "allow_header", did you mean "allow_headers"?',
  ],
])('cors: %s is a error', async (value, diagnostic) => {
  expect(await diagnosticsIn(`cors: ${value}\n${NEEDED}`)).toEqual([diagnostic]);
});
