import { expect, test } from 'vitest';
import { ReloadRecord } from '../../../../src/config/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const applied = (generation: number, changes: readonly string[] = []) => ({
  generation,
  hash: 'f',
  needsRestart: [],
  changes,
});

test('the last 20 reloads are remembered, the latest first, each with its first changes or error', () => {
  const clock = new FrozenClock();
  const record = new ReloadRecord(clock);
  record.started({ generation: 1, hash: 'f', needsRestart: [] });
  expect(record.reloads).toEqual([]);
  for (let n = 2; n < 40; n++) record.applied(applied(n));
  record.applied(
    applied(
      40,
      Array.from({ length: 11 }, (_, at) => `change ${at}`),
    ),
  );
  clock.advance(5_000);
  record.refused(['x'.repeat(1_000), 'another']);
  const { reloads } = record;
  expect(reloads).toHaveLength(20);
  expect(reloads[0]).toEqual({
    outcome: 'refused',
    atMs: clock.epochMs(),
    error: `${'x'.repeat(300)}...`,
    moreErrors: 1,
  });
  expect(reloads[1]).toMatchObject({ outcome: 'applied', generation: 40, moreChanges: 3 });
  expect(reloads[1]).toHaveProperty(
    'changes',
    Array.from({ length: 8 }, (_, at) => `change ${at}`),
  );
  expect(reloads.at(-1)).toMatchObject({ generation: 22 });
});

test('files that are refused again for the same error are remembered once, with the last time', () => {
  const clock = new FrozenClock();
  const record = new ReloadRecord(clock);
  record.refused(['one']);
  clock.advance(5_000);
  record.refused(['one']);
  expect(record.reloads).toEqual([
    { outcome: 'refused', atMs: clock.epochMs(), error: 'one', moreErrors: 0 },
  ]);
  record.refused(['two']);
  record.applied(applied(2));
  record.refused(['two']);
  expect(record.reloads.map(({ outcome }) => outcome)).toEqual(['refused', 'applied', 'refused', 'refused']);
});
