import { expect, test } from 'vitest';
import { Roster } from '../../../src/core/index.ts';

const three = () => ['a', 'b', 'c'].map(name => ({ name, place: -1 }));
const names = (roster: Roster<{ name: string; place: number }>) => [...roster].map(({ name }) => name).sort();

test.each([0, 1, 2])('what is deleted is listed no longer, and the others are: %i', index => {
  const roster = new Roster<{ name: string; place: number }>();
  const items = three();
  for (const item of items) roster.add(item);
  const [gone] = items.splice(index, 1);
  if (gone !== undefined) {
    roster.delete(gone);
    roster.delete(gone);
  }
  expect(names(roster)).toEqual(items.map(({ name }) => name));
  for (const item of items) roster.delete(item);
  expect(roster.size).toBe(0);
});

test('what was never listed cannot be deleted', () => {
  const roster = new Roster<{ name: string; place: number }>();
  for (const item of three()) roster.add(item);
  roster.delete({ name: 'd', place: 1 });
  roster.delete({ name: 'e', place: -1 });
  expect(names(roster)).toEqual(['a', 'b', 'c']);
});

test('each is visited once, though it is deleted meanwhile', () => {
  const roster = new Roster<{ name: string; place: number }>();
  for (const item of three()) roster.add(item);
  const visited: string[] = [];
  for (const item of roster) {
    roster.delete(item);
    visited.push(item.name);
  }
  expect(visited).toEqual(['a', 'b', 'c']);
});
