import { expect, test } from 'vitest';
import { Heap, type HeapItem } from '../../../../src/limits/restricting/eviction-order.ts';

interface Item extends HeapItem {
  rank: number;
}

/** The same numbers in every run. */
function* numbers(): Generator<number> {
  for (let seed = 7; ; ) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield seed >> 8;
  }
}

test('the first is the least at any time, whatever is added, deleted or changed', () => {
  const heap = new Heap<Item>((one, other) => one.rank < other.rank);
  const held: Item[] = [];
  const next = numbers();
  const random = (below: number) => Number(next.next().value) % below;
  for (let step = 0; step < 5_000; step++) {
    const item = held[random(held.length + 1)];
    const what = random(held.length < 200 ? 4 : 3);
    if (item === undefined || what === 3) {
      const added = { rank: random(1_000), place: 0 };
      held.push(added);
      heap.add(added);
    } else if (what === 1) {
      item.rank = random(1_000);
      heap.update(item);
    } else {
      held.splice(held.indexOf(item), 1);
      heap.delete(item);
    }
    expect([heap.size, heap.first?.rank]).toEqual([
      held.length,
      held.length === 0 ? undefined : Math.min(...held.map(({ rank }) => rank)),
    ]);
  }
});
