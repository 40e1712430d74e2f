import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentedRows } from './table.ts';

test('each fault of the table of docs/operations.md is tried', () => {
  const folder = import.meta.dirname;
  const files = readdirSync(folder).filter(name => name.endsWith('.test.ts'));
  const text = files.map(name => readFileSync(join(folder, name), 'utf8')).join('');
  const names = [...documentedRows().keys()];
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter(name => !text.includes(`'${name}'`))).toEqual([]);
});
