import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { FORMAT } from '../../src/limits/redis/options.ts';
import { documentNamed } from '../support/documents.ts';
import { CHECKOUT } from '../support/packed.ts';

const VERSION = manifest('package.json')['version'];

test('the lock file, the chart and UPGRADE.md are of the version of the package', () => {
  expect(manifest('package-lock.json')['version']).toBe(VERSION);
  expect(documentNamed('UPGRADE.md').text).toMatch(new RegExp(`^## ${VERSION}$`, 'm'));
  const chart = readFileSync(join(CHECKOUT, 'helm/weir/Chart.yaml'), 'utf8');
  expect(parse(chart).appVersion).toBe(VERSION);
});

test('the newest release in the changelog, if there is one, is the version of the package', () => {
  const releases = Array.from(
    documentNamed('CHANGELOG.md').text.matchAll(/^## \[(\d[^\]]*)\]/gm),
    ([, name]) => name,
  );
  expect(releases[0] ?? VERSION).toBe(VERSION);
});

test('the documents name the format of the keys in Redis', () => {
  for (const name of ['UPGRADE.md', 'docs/redis.md'])
    expect(documentNamed(name).text).toContain(`\`weir:${FORMAT}:...\``);
});

function manifest(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(CHECKOUT, name), 'utf8'));
}
