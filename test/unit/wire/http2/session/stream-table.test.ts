import { expect, test } from 'vitest';
import { StreamTable } from '../../../../../src/wire/http2/session/stream-table.ts';
import { Random } from '../../../../support/random.ts';

test('the table of streams holds what a Map would, through hundreds of thousands of changes', () => {
  const random = new Random(3);
  const table = new StreamTable<{ readonly id: number }>();
  const map = new Map<number, { readonly id: number }>();
  let [next, most] = [1, 200];
  for (let i = 0; i < 200_000; i++) {
    // Old streams stay while many newer ones come and go.
    if (i % 20_000 === 0) most = random.pick([3, 40, 700]);
    if (map.size < most && random.chance(0.6)) {
      const stream = { id: next };
      next += 2;
      table.add(stream);
      map.set(stream.id, stream);
    } else {
      const ids = [...map.keys()].slice(0, 40).concat(next);
      const id = random.chance(0.1) ? random.pick(ids) : next - 2 - 2 * random.below(4);
      const stream = map.get(id) ?? { id };
      table.delete(stream.id);
      map.delete(id);
    }
    const id = Math.max(1, next - 2 * random.below(random.pick([50, 5_000])));
    if (table.get(id) !== map.get(id) || table.size !== map.size)
      expect([i, table.get(id)]).toEqual([i, map.get(id)]);
  }
  expect(new Set(table.all())).toEqual(new Set(map.values()));
});
