import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  AddressOffences,
  type AnonymousRestriction,
  type Lift,
  NO_OTHERS,
  type Restriction,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { anAddress, beyond } from '../../../support/restricted-clients.ts';
import { FrozenClock } from '../frozen-clock.ts';

const ADDRESS = '192.0.2.1';
const TEN_SECONDS = 10_000;

let clock: FrozenClock;
/** What a board would carry, in the order in which it was posted. */
let posted: { readonly restriction?: AnonymousRestriction; readonly lift?: Lift }[];

beforeEach(() => {
  clock = new FrozenClock();
  posted = [];
});

class Gateway extends Restrictions {
  readonly released: Restriction[];

  constructor() {
    const released: Restriction[] = [];
    super({
      clock,
      listener: {
        restricted: () => {},
        released: each => released.push(each),
        prolonged: () => {},
        evicted: () => {},
      },
      others: {
        ...NO_OTHERS,
        began: restriction => posted.push({ restriction: beyond(restriction) }),
        lifted: lift => posted.push({ lift }),
      },
    });
    this.released = released;
  }

  hear(facts: typeof posted): void {
    for (const { restriction, lift } of facts) {
      if (restriction !== undefined) this.gossip.adopt(restriction);
      if (lift !== undefined) this.gossip.adoptLift(lift);
    }
  }

  /** What it would tell a Redis that has lost everything. */
  knows(): typeof posted {
    return [
      ...[...this.gossip.running()].map(restriction => ({ restriction: beyond(restriction) })),
      ...[...this.gossip.lifted()].map(lift => ({ lift })),
    ];
  }
}

function restrict(gateway: Gateway, forMs = TEN_SECONDS): void {
  gateway.restrict({ kind: 'address', key: ADDRESS, webhook: '', reason: 'invalid_requests' }, forMs);
}

function digestIn(gateway: Gateway): string {
  return [...gateway.listed.all()][0]?.digest ?? '';
}

describe('a restriction that is lifted', () => {
  test('is over at once, and its listener hears', () => {
    const gateway = new Gateway();
    restrict(gateway);
    expect(gateway.lift(digestIn(gateway))).toBe(true);
    expect([gateway.waitMs(anAddress(ADDRESS)), gateway.size]).toEqual([0, 0]);
    expect(gateway.released).toEqual([expect.objectContaining({ key: ADDRESS })]);
    expect(gateway.lift('unknown')).toBe(false);
  });

  test('is over at all gateways, whether they have seen its client or not', () => {
    const [first, met, unmet] = [new Gateway(), new Gateway(), new Gateway()];
    restrict(first);
    met.hear(posted);
    unmet.hear(posted);
    expect(met.waitMs(anAddress(ADDRESS))).toBe(TEN_SECONDS);
    // One that knows the restriction by its digest alone lifts it as well.
    expect([...unmet.listed.all()]).toEqual([
      expect.objectContaining({
        key: null,
        digest: digestIn(first),
        untilEpochMs: Math.floor(clock.epochMs()) + TEN_SECONDS,
      }),
    ]);
    unmet.lift(digestIn(unmet));
    expect(unmet.released).toEqual([]);
    for (const gateway of [first, met]) gateway.hear(posted);
    expect([first, met, unmet].map(each => [each.waitMs(anAddress(ADDRESS)), each.size])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  test('is not told again by a gateway that was away, in whatever order the facts arrive', () => {
    const [first, away] = [new Gateway(), new Gateway()];
    restrict(first);
    away.hear(posted);
    const old = away.knows();
    first.lift(digestIn(first));
    first.hear(old);
    expect(first.waitMs(anAddress(ADDRESS))).toBe(0);
    away.hear(first.knows());
    expect(away.waitMs(anAddress(ADDRESS))).toBe(0);
    const started = new Gateway();
    started.hear([...posted, ...old].reverse());
    expect(started.waitMs(anAddress(ADDRESS))).toBe(0);
  });

  test('may begin again: what begins after the lift holds everywhere, also if it is shorter', () => {
    const [first, second] = [new Gateway(), new Gateway()];
    restrict(first);
    first.lift(digestIn(first));
    restrict(first, 5_000);
    const [before, lifted, after] = posted;
    for (const order of [
      [before, lifted, after],
      [after, before, lifted],
      [lifted, after, before],
    ]) {
      const gateway = new Gateway();
      gateway.hear(order.filter(fact => fact !== undefined));
      expect(gateway.waitMs(anAddress(ADDRESS))).toBe(5_000);
    }
    second.hear(posted);
    second.lift(digestIn(second));
    first.hear(posted);
    expect(first.waitMs(anAddress(ADDRESS))).toBe(0);
  });

  test('is remembered until no gateway can hold it any more, and no longer', () => {
    const gateway = new Gateway();
    restrict(gateway);
    gateway.lift(digestIn(gateway));
    clock.advance(TEN_SECONDS);
    expect([...gateway.gossip.lifted()]).toHaveLength(1);
    clock.advance(60_000);
    gateway.sweep();
    expect([...gateway.gossip.lifted()]).toEqual([]);
  });

  test('is over everywhere at once, whichever gateway has swept it: what begins anew then holds everywhere', () => {
    const [first, second] = [new Gateway(), new Gateway()];
    restrict(first);
    first.lift(digestIn(first));
    second.hear(posted.splice(0));
    clock.advance(70_000);
    first.sweep();
    restrict(first);
    second.hear(posted);
    expect(second.waitMs(anAddress(ADDRESS))).toBe(TEN_SECONDS);
  });

  test('is forgotten before what began after it ends: that is prolonged and lifted everywhere all the same', () => {
    const [first, second] = [new Gateway(), new Gateway()];
    restrict(first);
    first.lift(digestIn(first));
    restrict(first, 3_600_000);
    second.hear(posted.splice(0));
    clock.advance(120_000);
    for (const gateway of [first, second]) gateway.sweep();
    restrict(first, 7_200_000);
    second.hear(posted.splice(0));
    expect(second.waitMs(anAddress(ADDRESS))).toBe(7_200_000);
    second.lift(digestIn(second));
    first.hear(posted);
    expect([first, second].map(each => [each.waitMs(anAddress(ADDRESS)), each.size])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test('is outlived by what began after it: news of what began before changes that no more', () => {
    const gateway = new Gateway();
    restrict(gateway);
    const [old] = posted;
    gateway.lift(digestIn(gateway));
    restrict(gateway, 3_600_000);
    clock.advance(120_000);
    gateway.sweep();
    expect([...gateway.gossip.lifted()]).toEqual([]);
    if (old?.restriction !== undefined) gateway.gossip.adopt({ ...old.restriction, forMs: 7_200_000 });
    expect(gateway.waitMs(anAddress(ADDRESS))).toBe(3_480_000);
  });

  test('leaves its client with a clean record: the next offence is its first', () => {
    const gateway = new Gateway();
    const forgotten: string[] = [];
    const tally = { note: () => {}, forget: ({ key }: { readonly key: string }) => void forgotten.push(key) };
    const invalid = new AddressOffences(gateway, 'invalid_requests', { clock, randomBytes, tally });
    invalid.use({ quota: { units: 2, periodMs: 60_000 }, restrictForMs: TEN_SECONDS });
    for (let i = 0; i < 3; i++) invalid.note(ADDRESS);
    expect(gateway.waitMs(anAddress(ADDRESS))).toBe(TEN_SECONDS);
    gateway.lift(digestIn(gateway));
    invalid.note(ADDRESS);
    invalid.note(ADDRESS);
    expect([gateway.waitMs(anAddress(ADDRESS)), forgotten]).toEqual([0, [ADDRESS]]);
    invalid.note(ADDRESS);
    expect(gateway.waitMs(anAddress(ADDRESS))).toBe(TEN_SECONDS);
  });
});
