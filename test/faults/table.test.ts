import { expect, test } from 'vitest';
import { documentedRows, FAULTS } from './table.ts';

test('the table of docs/operations.md has the faults that are tried, in their order', () => {
  expect([...documentedRows().keys()]).toEqual(FAULTS);
});
