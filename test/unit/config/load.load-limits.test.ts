import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatDiagnostic, readPart } from '../../../src/config/index.ts';
import { tempFolder, tempText } from '../../support/temp.ts';

test('limits are read without a gateway.yaml, from a file or a folder', async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'a.yaml'), 'buckets: { all: { user: 2/5s } }\n');
  await writeFile(join(folder, 'b.yaml'), 'routes: { "/**": all }\n');
  for (const path of [folder, 'config/limits.yaml']) {
    const result = await readPart('limits', path, {});
    expect(result.ok).toBe(true);
  }
});

test.each([
  ['buckets: { all: { user: 2 } }\nroutes: { "/**": all }\n', 1, 'expected a number and a period'],
  ['buckets: { all: { user: 2/5s } }\nroutes: { "/**": al }\n', 2, 'no bucket is named "al"'],
])('each mistake has its place: %s', async (text, line, message) => {
  const file = await tempText('limits.yaml', text);
  const result = await readPart('limits', file, {});
  expect(result.ok).toBe(false);
  const [first] = result.diagnostics.filter(({ severity }) => severity === 'error').map(formatDiagnostic);
  expect(first).toContain(`${file}:${line}:`);
  expect(first).toContain(message);
});

test('a missing file is a mistake', async () => {
  const result = await readPart('limits', '/nowhere/limits.yaml', {});
  expect(result.ok).toBe(false);
  expect(result.diagnostics[0]?.message).toContain('no such file');
});
