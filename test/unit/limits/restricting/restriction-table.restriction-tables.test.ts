import { beforeEach, describe, expect, test } from 'vitest';
import type { EvictionEvent } from '../../../../src/core/index.ts';
import {
  type AnonymousRestriction,
  type Lift,
  NO_OTHERS,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { networkOfKey } from '../../../../src/wire/http/index.ts';
import { anAddress, aPrincipal, beyond } from '../../../support/restricted-clients.ts';
import { runs } from '../../../support/runs.ts';
import { FrozenClock } from '../frozen-clock.ts';

const TEN_MINUTES = 600_000;

let clock: FrozenClock;
let evicted: EvictionEvent[];
let announced: AnonymousRestriction[];
let withdrawn: AnonymousRestriction[];
let released: string[];
let lifts: Lift[];

beforeEach(() => {
  clock = new FrozenClock();
  evicted = [];
  announced = [];
  withdrawn = [];
  released = [];
  lifts = [];
});

function newRestrictions(places = { operator: 10_000, principal: 5, address: 5, webhook: 1_000 }) {
  return new Restrictions({
    clock,
    places,
    listener: {
      restricted: () => {},
      prolonged: () => {},
      released: ({ kind }) => released.push(kind),
      evicted: each => evicted.push(each),
    },
    others: {
      ...NO_OTHERS,
      began: each => announced.push(each),
      lifted: lift => lifts.push(lift),
      evicted: each => withdrawn.push(each),
    },
    networkOf: networkOfKey,
  });
}

const ofAddress = (key: string) =>
  ({ kind: 'address', key, webhook: '', reason: 'invalid_requests' }) as const;
const ofCaller = (key: string) =>
  ({ kind: 'principal', key, webhook: '', reason: 'ignored_refusals' }) as const;
const onWebhook = (key: string, webhook: string) =>
  ({ kind: 'webhook', key, webhook, reason: 'webhook_not_found' }) as const;
const byOperator = (key: string, kind: 'address' | 'principal' = 'address') =>
  ({ kind, key, webhook: '', reason: 'operator' }) as const;

function deadWebhooks(restrictions: Restrictions, address: string, count: number, from = 0): void {
  for (let i = from; i < from + count; i++)
    restrictions.restrict(onWebhook(address, `hook${i}`), TEN_MINUTES);
}

describe('a table for each kind of restriction', () => {
  const many = runs(201_000, 20_000);

  test(`${many} dead webhooks of one address leave room for an abuser and for an operator`, () => {
    const restrictions = newRestrictions();
    for (let i = 0; i < many; i++) {
      // As the gate does: a restricted address comes no further.
      if (restrictions.waitMs(anAddress('203.0.113.1')) > 0) clock.advance(TEN_MINUTES);
      restrictions.restrict(onWebhook('203.0.113.1', `hook${i}`), TEN_MINUTES);
    }
    restrictions.restrict(ofAddress('192.0.2.1'), TEN_MINUTES);
    restrictions.restrict(byOperator('192.0.2.2'), TEN_MINUTES);
    expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(TEN_MINUTES);
    expect(restrictions.waitMs(anAddress('192.0.2.2'))).toBe(TEN_MINUTES);
    expect(evicted).toEqual([]);
  });

  test('one that is full takes nothing from another', () => {
    const restrictions = newRestrictions();
    for (let n = 1; n <= 9; n++) restrictions.restrict(ofAddress(`192.0.2.${n}`), TEN_MINUTES);
    for (let n = 1; n <= 9; n++) restrictions.restrict(ofCaller(`user:${n}`), TEN_MINUTES);
    deadWebhooks(restrictions, '203.0.113.1', 5);
    restrictions.restrict(byOperator('198.51.100.1'), TEN_MINUTES);
    expect(restrictions.size).toBe(5 + 5 + 5 + 1);
    expect(evicted.map(({ table }) => table)).toEqual([
      ...Array(4).fill('address'),
      ...Array(4).fill('principal'),
    ]);
  });

  test('a full one takes from the network that holds most, nearest its end first', () => {
    const restrictions = newRestrictions();
    restrictions.restrict(ofAddress('192.0.2.1'), 1_000);
    restrictions.restrict(ofAddress('2001:db8:1:1::/64'), 1_000);
    restrictions.restrict(ofAddress('203.0.113.1'), 9_000);
    restrictions.restrict(ofAddress('203.0.113.2'), 5_000);
    restrictions.restrict(ofAddress('203.0.113.3'), 7_000);
    restrictions.restrict(ofAddress('203.0.113.4'), 8_000);
    restrictions.restrict(ofAddress('2001:db8:1:2::/64'), 2_000);
    restrictions.restrict(ofAddress('2001:db8:1:3::/64'), 2_000);
    expect(evicted.map(({ key }) => key)).toEqual(['203.0.113.2', '203.0.113.3', '2001:db8:1:1::/64']);
    restrictions.restrict(ofAddress('192.0.2.2'), 1_500);
    expect(evicted.slice(3).map(({ key }) => key)).toEqual(['2001:db8:1:2::/64']);
    expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(1_000);
  });

  test('one that gives way is taken from what other gateways will read', () => {
    const restrictions = newRestrictions();
    for (let n = 1; n <= 6; n++) restrictions.restrict(ofAddress(`192.0.2.${n}`), n * 1_000);
    expect(withdrawn).toEqual([announced[0]]);
  });

  test('one that is over gives its place to its client again, though another network holds more', () => {
    const [first, second] = [newRestrictions(), newRestrictions()];
    first.restrict(ofAddress('192.0.2.1'), 1_000);
    for (let n = 1; n <= 4; n++) first.restrict(ofAddress(`203.0.113.${n}`), 9_000);
    for (const each of announced) second.gossip.adopt(beyond(each));
    clock.advance(1_000);
    second.restrict(ofAddress('192.0.2.1'), 5_000);
    expect([evicted, [...second.listed.all()].length]).toEqual([[], 5]);
  });

  test('other gateways are told the network of an address, and none of a caller, by eleven digits', () => {
    const restrictions = newRestrictions();
    for (const address of ['203.0.113.1', '203.0.113.2', '198.51.100.1'])
      restrictions.restrict(ofAddress(address), TEN_MINUTES);
    restrictions.restrict(ofCaller('user:a'), TEN_MINUTES);
    const [one, same, other, none] = announced.map(({ network }) => network);
    expect(one).toMatch(/^[\w-]{11}$/);
    expect([same === one, other === one, none]).toEqual([true, false, '']);
  });

  test('what another gateway told gives way by the same rule, without being named', () => {
    const [first, second] = [newRestrictions(), newRestrictions()];
    for (let n = 1; n <= 3; n++) first.restrict(ofAddress(`203.0.113.${n}`), n * 1_000);
    for (const each of announced.splice(0)) second.gossip.adopt(beyond(each));
    for (let n = 1; n <= 3; n++) second.restrict(ofAddress(`192.0.${n}.1`), 500);
    expect(evicted).toEqual([expect.objectContaining({ key: null, table: 'address', kind: 'address' })]);
    expect([1, 2, 3].map(n => second.waitMs(anAddress(`203.0.113.${n}`)))).toEqual([0, 2_000, 3_000]);
  });
});

describe('an address restricted on more than 100 webhooks at once', () => {
  const ADDRESS = '203.0.113.1';

  test.each([true, false])(
    'is restricted itself for as long; those over, swept (%s) or not, do not count',
    isSwept => {
      const restrictions = newRestrictions();
      deadWebhooks(restrictions, ADDRESS, 1);
      clock.advance(TEN_MINUTES);
      if (isSwept) restrictions.sweep();
      deadWebhooks(restrictions, ADDRESS, 100, 100);
      expect([restrictions.waitMs(anAddress(ADDRESS)), restrictions.size]).toEqual([0, 100]);
      deadWebhooks(restrictions, ADDRESS, 1, 200);
      expect(restrictions.waitMs(anAddress(ADDRESS))).toBe(TEN_MINUTES);
      expect(restrictions.listed.ofClient({ kind: 'address', key: ADDRESS })).toEqual([
        expect.objectContaining({ reason: 'webhook_not_found' }),
      ]);
      expect([released, withdrawn]).toEqual([['webhook'], []]);
    },
  );

  test('is never one of `never_restrict`', () => {
    const restrictions = newRestrictions();
    restrictions.neverRestrict(key => key === ADDRESS);
    deadWebhooks(restrictions, ADDRESS, 200);
    expect([restrictions.waitMs(anAddress(ADDRESS)), restrictions.size]).toEqual([0, 0]);
  });

  test('counts those of all gateways, and is restricted at all of them', () => {
    const [first, second] = [newRestrictions(), newRestrictions()];
    deadWebhooks(first, ADDRESS, 60);
    for (const each of announced.splice(0)) second.gossip.adopt(beyond(each));
    deadWebhooks(second, ADDRESS, 41, 60);
    expect(second.waitMs(anAddress(ADDRESS))).toBe(TEN_MINUTES);
    for (const each of announced.splice(0)) first.gossip.adopt(beyond(each));
    expect(first.waitMs(anAddress(ADDRESS))).toBe(TEN_MINUTES);
  });

  test('stays refused on them where it is restricted for another reason', () => {
    const [first, second] = [newRestrictions(), newRestrictions()];
    deadWebhooks(second, ADDRESS, 1);
    announced = [];
    first.restrict(ofAddress(ADDRESS), 1_000);
    for (const each of announced) second.gossip.adopt(beyond(each));
    expect([second.waitMs(anAddress(ADDRESS)), second.webhookWaitMs(ADDRESS, 'hook0')]).toEqual([
      1_000,
      TEN_MINUTES,
    ]);
  });

  test('begins anew once an operator has lifted it', () => {
    const restrictions = newRestrictions();
    deadWebhooks(restrictions, ADDRESS, 101);
    const [listed] = restrictions.listed.ofClient({ kind: 'address', key: ADDRESS });
    restrictions.lift(listed?.digest ?? '');
    expect(restrictions.size).toBe(0);
    deadWebhooks(restrictions, ADDRESS, 100);
    expect(restrictions.waitMs(anAddress(ADDRESS))).toBe(0);
  });
});

describe('a restriction by an operator', () => {
  const CLIENT = { kind: 'address', key: '192.0.2.1' } as const;

  test('stands beside an automatic one of the same client, and the longer wait is told with its reason', () => {
    const restrictions = newRestrictions();
    restrictions.restrict(ofAddress(CLIENT.key), 5_000);
    restrictions.restrict(byOperator(CLIENT.key), 2_000);
    expect([restrictions.waitMs(anAddress(CLIENT.key)), restrictions.reasonFor(CLIENT)]).toEqual([
      5_000,
      'invalid_requests',
    ]);
    const reasons = () => restrictions.listed.ofClient(CLIENT).map(({ reason }) => reason);
    expect(reasons()).toEqual(['invalid_requests', 'operator']);
    restrictions.restrict(byOperator(CLIENT.key), 9_000);
    expect([restrictions.waitMs(anAddress(CLIENT.key)), restrictions.reasonFor(CLIENT)]).toEqual([
      9_000,
      'operator',
    ]);
    expect(reasons()).toEqual(['operator', 'invalid_requests']);
    clock.advance(9_000);
    expect(restrictions.waitMs(anAddress(CLIENT.key))).toBe(0);
  });

  test('is the reason told where there is no other, and where an automatic one ends at the same time', () => {
    const restrictions = newRestrictions();
    restrictions.restrict(byOperator(CLIENT.key), 2_000);
    expect(restrictions.reasonFor(CLIENT)).toBe('operator');
    restrictions.restrict(ofAddress(CLIENT.key), 2_000);
    expect(restrictions.reasonFor(CLIENT)).toBe('operator');
  });

  test('of a caller is none of the address of the same text', () => {
    const restrictions = newRestrictions();
    restrictions.restrict(byOperator('x', 'principal'), 2_000);
    expect([restrictions.waitMs(aPrincipal('x')), restrictions.waitMs(anAddress('x'))]).toEqual([2_000, 0]);
  });

  test('is lifted together with the automatic one, at all gateways', () => {
    const [first, second] = [newRestrictions(), newRestrictions()];
    first.restrict(ofAddress(CLIENT.key), 5_000);
    first.restrict(byOperator(CLIENT.key), 2_000);
    for (const each of announced) second.gossip.adopt(beyond(each));
    expect([second.size, second.waitMs(anAddress(CLIENT.key))]).toEqual([2, 5_000]);
    const [listed] = second.listed.all();
    expect(second.lift(listed?.digest ?? '')).toBe(true);
    for (const lift of lifts) first.gossip.adoptLift(lift);
    expect([first.size, second.size]).toEqual([0, 0]);
  });

  test('always finds room: beyond 10,000 another one gives way', () => {
    const restrictions = newRestrictions();
    for (let n = 0; n <= 10_000; n++)
      restrictions.restrict(byOperator(`10.0.${n >> 8}.${n & 255}`), 1_000 + n);
    expect(restrictions.size).toBe(10_000);
    expect(restrictions.waitMs(anAddress('10.0.39.16'))).toBe(11_000);
    expect(evicted).toEqual([expect.objectContaining({ table: 'operator', reason: 'operator' })]);
  });

  test('is among those listed by name even if other tables hold thousands', () => {
    const restrictions = newRestrictions();
    for (let n = 0; n < 20; n++) deadWebhooks(restrictions, `203.0.113.${n}`, 50);
    restrictions.restrict(byOperator(CLIENT.key), 9_000);
    restrictions.restrict(ofAddress('192.0.2.9'), 9_000);
    const shown = restrictions.listed.byName(100).map(({ kind, reason }) => `${kind} ${reason}`);
    expect(shown).toHaveLength(100);
    expect(shown).toEqual(expect.arrayContaining(['address operator', 'address invalid_requests']));
  });
});

test('a restriction says since when it holds, at a gateway that hears of it later as well, and never since a moment to come', () => {
  const [first, second] = [newRestrictions(), newRestrictions()];
  first.restrict(ofAddress('192.0.2.1'), 5_000);
  const sinceEpochMs = Math.floor(clock.epochMs());
  clock.advance(3_000);
  for (const each of first.gossip.running()) second.gossip.adopt(beyond(each));
  expect(second.listed.ofClient({ kind: 'address', key: '192.0.2.1' })).toEqual([
    expect.objectContaining({ sinceEpochMs, untilEpochMs: sinceEpochMs + 5_000 }),
  ]);
  const [told] = announced;
  const third = newRestrictions();
  if (told !== undefined) third.gossip.adopt({ ...beyond(told), sinceEpochMs: sinceEpochMs + 9_000 });
  expect([...third.listed.all()]).toMatchObject([{ sinceEpochMs: sinceEpochMs + 3_000 }]);
});

test('beyond 100,000 lifts, each one forgets the oldest', () => {
  const restrictions = newRestrictions();
  const digests: string[] = [];
  for (let n = 0; n < 100_002; n++) {
    restrictions.restrict(ofAddress('192.0.2.1'), 5_000);
    restrictions.gossip.adoptLift({ digest: `digest${n}`, count: 1, forMs: 5_000 });
    digests.push(`digest${n}`);
  }
  const known = [...restrictions.gossip.lifted()].map(({ digest }) => digest);
  expect([known.length, known[0], known.at(-1)]).toEqual([100_000, 'digest2', 'digest100001']);
});
