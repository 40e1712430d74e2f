import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { provideKeycloak } from '../../../../src/cli/demo/keycloak.ts';
import { tempFolder } from '../../../support/temp.ts';

afterEach(() => void vi.unstubAllEnvs());

/** What `provideKeycloak` rejects with where the PATH has nothing but a Java that says this. */
async function rejection(java: string | null): Promise<string> {
  const folder = await tempFolder();
  const script = `#!/bin/sh\necho '${java}' >&2\n`;
  if (java !== null) await writeFile(join(folder, 'java'), script, { mode: 0o755 });
  vi.stubEnv('PATH', folder);
  const said: string[] = [];
  const error = await provideKeycloak(line => said.push(line), join(folder, 'cache')).catch(String);
  expect(said).toEqual([]);
  return error;
}

test('without Java, or with one that is too old, it says what to install', async () => {
  const need =
    'Error: Keycloak needs Java 17 or newer on the PATH. On Debian, as root: apt-get install default-jre-headless';
  expect(await rejection(null)).toBe(need);
  expect(await rejection('openjdk version "11.0.22" 2024-01-16')).toBe(`${need} (this is 11)`);
});

test('without Maven it says what to install', async () => {
  expect(await rejection('openjdk version "21" 2023-09-19')).toMatch(/Maven, .* apt-get install maven$/);
});
