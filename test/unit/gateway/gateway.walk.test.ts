import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOM = join(import.meta.dirname, '../../../src/gateway');
const STEP = /^ \* +(\d+)\. `(\w+)` .*\(([^)]+)\)$/gm;

/** The steps that the comment on `Gateway` lists: their number, their function, and the files where they happen. */
const STEPS = [...read('gateway.ts').matchAll(STEP)].map(([, number = '', name = '', files = '']) => ({
  number,
  name,
  files: files.split(', '),
}));

function read(file: string): string {
  return readFileSync(join(ROOM, file), 'utf8');
}

function marksIn(text: string): string[] {
  return [...text.matchAll(/\bSteps? (\d+)/g)].map(([, number = '']) => number);
}

test('the comment on the gateway numbers the steps of a request from 1 to 12', () => {
  expect(STEPS.map(({ number }) => Number(number))).toEqual(
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
});

test.each(STEPS)('step $number, $name, is marked in the files that it names', ({ number, name, files }) => {
  for (const file of files) expect(marksIn(read(file)), file).toContain(number);
  expect(files.map(read).join('\n')).toMatch(new RegExp(`\\b${name}\\(`));
});

test('every mark in the room is that of a listed step', () => {
  const names = readdirSync(ROOM, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
  const marks = new Set(names.flatMap(name => marksIn(read(name))));
  expect([...marks].toSorted()).toEqual(STEPS.map(({ number }) => number).toSorted());
});
