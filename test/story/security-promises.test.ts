import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { documentNamed } from '../support/documents.ts';
import { CHECKOUT } from '../support/packed.ts';

const { text } = documentNamed('SECURITY.md');
const [, promises = ''] = /\n## Guarantees\n([\s\S]*?)\n## What is not promised\n/.exec(text) ?? [];
const bullets = promises.split(/\n(?=- )/).slice(1);
const namedIn = (bullet: string) => {
  const [, tests = ''] = /\n {2}Tests: ([\s\S]*?)\.(?:\n\n|\n?$)/.exec(`${bullet}\n\n`) ?? [];
  return tests
    .replace(/\s+/g, ' ')
    .split('; ')
    .flatMap(part => {
      const [, file = ''] = /^`([^`]+)`/.exec(part) ?? [];
      return Array.from(part.matchAll(/"([^"]+)"/g), ([, title = '']) => ({ file, title }));
    });
};

test('every promise of SECURITY.md names a test', () => {
  expect(bullets.length).toBeGreaterThan(30);
  expect(bullets.filter(bullet => namedIn(bullet).length === 0)).toEqual([]);
});

it.each(bullets.flatMap(namedIn))(
  'the test that SECURITY.md names exists: $file, $title',
  ({ file, title }) => {
    const path = join(CHECKOUT, file);
    expect(existsSync(path)).toBe(true);
    const source = readFileSync(path, 'utf8');
    // The title of a test or of a group begins with it, after the number of cases where that varies.
    const quoted = title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    expect(source).toMatch(
      new RegExp(`(?:\\(|^)\\s*['"\`](?:\\d+:\\d+: [^'"]*|of \\$\\{\\w+\\} )?${quoted}`, 'm'),
    );
  },
);
