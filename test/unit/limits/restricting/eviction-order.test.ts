import { expect, test } from 'vitest';
import { EvictionOrder, type Member } from '../../../../src/limits/restricting/eviction-order.ts';
import { Random } from '../../../support/random.ts';

const NETWORKS = ['', 'a', 'b', 'c', 'd'];

/** Of the network that holds most, the one that ends first; of networks that hold as many, the one that has it. */
function firstOf(members: readonly Member[]): Member | undefined {
  const byNetwork = NETWORKS.map(network => members.filter(each => each.network === network));
  const most = Math.max(...byNetwork.map(({ length }) => length));
  const candidates = byNetwork.filter(({ length }) => length === most).flat();
  return candidates.toSorted((one, other) => one.untilMs - other.untilMs)[0];
}

test('the first to give way is of the network that holds most at that time, whatever was added and deleted', () => {
  const random = new Random(3);
  const order = new EvictionOrder<Member>();
  const held: Member[] = [];
  for (let step = 0; step < 3_000; step++) {
    // Sometimes it grows and sometimes it empties.
    if (random.chance(step % 600 < 300 ? 0.7 : 0.3)) {
      // A restriction that is prolonged brings the place that it had.
      const place = random.below(9);
      const member = { network: random.pick(NETWORKS), untilMs: random.next(), place };
      held.push(member);
      order.add(member);
    } else {
      const [member] = held.splice(random.below(held.length), 1);
      if (member !== undefined) order.delete(member);
    }
    expect(order.first).toBe(firstOf(held));
  }
});
