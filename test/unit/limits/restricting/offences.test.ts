import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  AddressOffences,
  EventCounter,
  IgnoredRefusals,
  type Limit,
  NO_OTHERS,
  type OffenceRule,
  parseQuota,
  type Restricted,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { anAddress, aPrincipal } from '../../../support/restricted-clients.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { limit, limits, newStore } from '../stores.ts';

const quiet = { restricted: () => {}, prolonged: () => {}, released: () => {}, evicted: () => {} };
const A = '192.0.2.1';
const B = '192.0.2.2';

let clock: FrozenClock;
let restrictions: Restrictions;

beforeEach(() => {
  clock = new FrozenClock();
  restrictions = new Restrictions({ clock, listener: quiet, others: NO_OTHERS });
});

const options = (maxKeys = 100) => ({ clock, randomBytes, maxKeys });
const rule = (quota: string, restrictForMs = 600_000) => ({ quota: parseQuota(quota), restrictForMs });

function times(count: number, act: () => void): void {
  for (let i = 0; i < count; i++) act();
}

describe('events', () => {
  test('are tolerated up to the quota, then the wait until the window closes is returned', () => {
    const counter = new EventCounter(options());
    counter.use(parseQuota('2/1m'));
    clock.advance(0.5);
    expect([counter.count(A, ''), counter.count(A, ''), counter.count(A, ''), counter.count(B, '')]).toEqual([
      0, 0, 60_000, 0,
    ]);
    clock.advance(60_000);
    expect(counter.count(A, '')).toBe(0);
  });

  test('are not counted without a quota', () => {
    const counter = new EventCounter(options());
    times(9, () => expect(counter.count(A, '')).toBe(0));
  });

  test('keep their counts when a reload changes only the number', () => {
    const counter = new EventCounter(options());
    counter.use(parseQuota('5/1m'));
    times(3, () => counter.count(A, ''));
    counter.use(parseQuota('3/1m'));
    expect(counter.count(A, '')).toBeGreaterThan(0);
  });

  test('without room for a key of their own do not count', () => {
    const counter = new EventCounter(options(1));
    counter.use(parseQuota('1/1m'));
    counter.count(A, '');
    times(5, () => expect(counter.count(B, '')).toBe(0));
    expect(counter.count(A, '')).toBeGreaterThan(0);
  });
});

describe('invalid requests', () => {
  let invalid: AddressOffences;

  beforeEach(() => {
    invalid = new AddressOffences(restrictions, 'invalid_requests', options());
    invalid.use(rule('10000/10m'));
  });

  test('10,000 in ten minutes are tolerated, and the next one restricts the address for ten minutes', () => {
    times(10_000, () => invalid.note(A));
    expect(restrictions.waitMs(anAddress(A))).toBe(0);
    invalid.note(A);
    expect(restrictions.waitMs(anAddress(A))).toBe(600_000);
    expect(restrictions.waitMs(anAddress(B))).toBe(0);
    clock.advance(600_000);
    expect(restrictions.waitMs(anAddress(A))).toBe(0);
    invalid.note(A);
    expect(restrictions.waitMs(anAddress(A))).toBe(0);
  });

  test('10,000 in each of two windows restrict no one', () => {
    times(10_000, () => invalid.note(A));
    clock.advance(600_000);
    times(10_000, () => invalid.note(A));
    expect(restrictions.waitMs(anAddress(A))).toBe(0);
  });

  test('of an address on the allow list are not counted', () => {
    restrictions.neverRestrict(address => address === A);
    times(10_001, () => invalid.note(A));
    restrictions.neverRestrict(() => false);
    invalid.note(A);
    expect(restrictions.waitMs(anAddress(A))).toBe(0);
  });

  test('restrict no one when the rule is off', () => {
    invalid.use(null);
    times(10_001, () => invalid.note(A));
    expect(restrictions.size).toBe(0);
  });

  test('restrict for as long as the latest rule says', () => {
    invalid.use(rule('1/10m', 5_000));
    times(2, () => invalid.note(A));
    expect(restrictions.waitMs(anAddress(A))).toBe(5_000);
  });
});

describe('a tally of several gateways', () => {
  const noted: string[] = [];
  const forgotten: string[] = [];
  const write = (into: string[]) => (offence: Restricted, by: OffenceRule) =>
    void into.push(`${Object.values(offence).join(' ')}, ${by.quota.units} tolerated`);
  const tally = { note: write(noted), forget: write(forgotten) };
  let invalid: AddressOffences;
  let webhooks: AddressOffences;

  beforeEach(() => {
    for (const list of [noted, forgotten]) list.length = 0;
    restrictions = new Restrictions({ clock, listener: quiet, others: { ...NO_OTHERS, isMain: false } });
    invalid = new AddressOffences(restrictions, 'invalid_requests', { ...options(), tally });
    webhooks = new AddressOffences(restrictions, 'webhook_not_found', { ...options(), tally });
    for (const each of [invalid, webhooks]) each.use(rule('1/10m'));
  });

  test('is told of each offence, tolerated or not, but of none while its rule is off or from a client that is exempt', () => {
    times(2, () => invalid.note(A));
    webhooks.note(A, 'abc');
    restrictions.neverRestrict(key => key === B);
    invalid.note(B);
    webhooks.note(B, 'abc');
    invalid.use(null);
    invalid.note(A);
    expect(noted).toEqual([
      `address ${A}  invalid_requests, 1 tolerated`,
      `address ${A}  invalid_requests, 1 tolerated`,
      `webhook ${A} abc webhook_not_found, 1 tolerated`,
    ]);
  });

  test('forgets what may have led to a restriction that is lifted, and nothing else', () => {
    times(2, () => webhooks.note(A, 'abc'));
    times(2, () => invalid.note(B));
    for (const key of [A, B])
      for (const { digest } of [...restrictions.listed.all()].filter(each => each.key === key))
        restrictions.lift(digest);
    expect(forgotten).toEqual([
      `webhook ${A} abc webhook_not_found, 1 tolerated`,
      `address ${B}  invalid_requests, 1 tolerated`,
    ]);
    invalid.use(null);
    restrictions.restrict({ kind: 'address', key: A, webhook: '', reason: 'operator' }, 1_000);
    for (const { digest } of [...restrictions.listed.all()]) restrictions.lift(digest);
    expect(forgotten).toHaveLength(2);
  });

  test('forgets nothing when a restriction only ends', () => {
    times(2, () => invalid.note(A));
    clock.advance(600_000);
    restrictions.sweep();
    expect([restrictions.size, forgotten]).toEqual([0, []]);
  });

  test('forgets even where the counts of the process are left to another thread', () => {
    times(2, () => invalid.note(A));
    for (const { digest } of [...restrictions.listed.all()])
      restrictions.gossip.adoptLift({ digest, count: 1, forMs: 1_000 });
    expect([restrictions.waitMs(anAddress(A)), forgotten.length]).toEqual([0, 1]);
    invalid.note(A);
    expect(restrictions.waitMs(anAddress(A))).toBe(600_000);
  });
});

describe('a webhook that does not exist', () => {
  test('may be called ten times by an address, which is then refused on that webhook', () => {
    const webhooks = new AddressOffences(restrictions, 'webhook_not_found', options());
    webhooks.use(rule('10/10m'));
    times(10, () => webhooks.note(A, 'abc'));
    times(10, () => webhooks.note(A, 'def'));
    times(10, () => webhooks.note(B, 'abc'));
    expect(restrictions.size).toBe(0);
    webhooks.note(A, 'abc');
    expect(restrictions.webhookWaitMs(A, 'abc')).toBe(600_000);
    expect(restrictions.size).toBe(1);
  });

  test('may be called by addresses on the allow list as often as they like', () => {
    const webhooks = new AddressOffences(restrictions, 'webhook_not_found', options());
    webhooks.use(rule('10/10m'));
    restrictions.neverRestrict(() => true);
    times(20, () => webhooks.note(A, 'abc'));
    restrictions.neverRestrict(() => false);
    webhooks.note(A, 'abc');
    expect(restrictions.size).toBe(0);
  });
});

describe('refusals that are ignored', () => {
  let ignored: IgnoredRefusals;
  const own = limit('5/5s', { main: 'channel_id' });
  const global = limit('50/1s', { role: 'global' });

  beforeEach(() => {
    ignored = new IgnoredRefusals(restrictions, options());
    ignored.use({ ...rule('2/10m'), addresses: true });
  });

  const refuse = (main: string, waitMs: number, principal: string | null = 'user:a', by = own, cost = 1) =>
    ignored.note({ address: A, principal, limit: by, main, cost, waitMs });

  test('count by their cost: who is told to wait for five units may ask for one meanwhile', () => {
    const smooth = limit('10/10s', { algorithm: 'smooth' });
    const ask = (cost: number, waitMs: number) => times(9, () => refuse('', waitMs, 'user:a', smooth, cost));
    refuse('', 5_000, 'user:a', smooth, 5);
    clock.advance(4_500);
    ask(1, 500);
    expect(restrictions.size).toBe(0);
    ask(5, 500);
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  test('count for each cost alone, also by a window: who asked in vain for five units hears of one or three for the first time', () => {
    refuse('c1', 5_000, 'user:a', own, 5);
    clock.advance(1_001);
    for (const cost of [1, 3]) times(9, () => refuse('c1', 3_999, 'user:a', own, cost));
    expect(restrictions.size).toBe(0);
    times(3, () => refuse('c1', 3_999, 'user:a', own, 5));
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  test('count when the same key refuses again, more than a second after its first refusal and before its wait is over', () => {
    refuse('c1', 5_000);
    clock.advance(1_001);
    refuse('c1', 3_999);
    refuse('c1', 3_999);
    expect(restrictions.size).toBe(0);
    refuse('c1', 3_999);
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
    expect(restrictions.waitMs(anAddress(A))).toBe(0);
  });

  test('do not count within a second of the first, since those may have been in flight', () => {
    refuse('c1', 5_000);
    clock.advance(1_000);
    times(99, () => refuse('c1', 4_000));
    expect(restrictions.size).toBe(0);
  });

  test('do not count once the wait is over: the next refusal counts as a first one', () => {
    times(99, () => {
      refuse('c1', 5_000);
      clock.advance(5_000);
    });
    expect(restrictions.size).toBe(0);
  });

  test('do not count against a wait that was forgotten, since the client may have been given a fresh allowance', () => {
    refuse('c1', 5_000);
    clock.advance(1_001);
    ignored.forgetWaits();
    clock.advance(1);
    times(99, () => refuse('c1', 3_998));
    expect(restrictions.size).toBe(0);
    // The first of these announced a new one.
    clock.advance(1_001);
    times(3, () => refuse('c1', 2_997));
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  test('do not count against a wait that was announced in the very millisecond in which all were forgotten', () => {
    refuse('c1', 5_000);
    ignored.forgetWaits();
    clock.advance(1_001);
    times(99, () => refuse('c1', 3_999));
    expect(restrictions.size).toBe(0);
  });

  test('do not count for a client that comes back in the slack of its wait', () => {
    times(99, () => {
      refuse('c1', 5_000);
      clock.advance(4_980);
    });
    expect(restrictions.size).toBe(0);
  });

  test('count in the last millisecond before the slack of their wait', () => {
    refuse('c1', 5_000);
    clock.advance(4_979);
    times(3, () => refuse('c1', 21));
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  test('do not count when another key refuses', () => {
    refuse('c1', 5_000);
    clock.advance(1_500);
    times(3, () => refuse('c2', 5_000));
    times(3, () => refuse('c1', 3_500, 'user:b'));
    times(3, () => refuse('c1', 1_000, 'user:a', global));
    expect(restrictions.size).toBe(0);
    refuse('c3', 5_000, 'user:a', own, 5);
    clock.advance(1_500);
    times(3, () => refuse('c4', 5_000, 'user:a', own, 5));
    expect(restrictions.size).toBe(0);
  });

  test('are remembered of the callers refused last where there is no room for all: the others are excused', () => {
    ignored = new IgnoredRefusals(restrictions, options(1));
    ignored.use({ ...rule('2/10m'), addresses: true });
    for (const principal of ['user:a', 'user:b']) refuse('c1', 5_000, principal);
    clock.advance(1_001);
    for (const principal of ['user:b', 'user:a']) times(3, () => refuse('c1', 3_999, principal));
    expect(['user:a', 'user:b'].map(each => restrictions.waitMs(aPrincipal(each)))).toEqual([0, 600_000]);
  });

  describe('among hundreds of keys, most of which were not looked at since their waits were over', () => {
    beforeEach(() => {
      ignored = new IgnoredRefusals(restrictions, options(1_000));
      ignored.use({ ...rule('1/10m'), addresses: true });
      for (let n = 0; n < 500; n++) refuse('', 5_000, `user:${n}`);
    });

    test('do not count for a client that comes back in the slack of its wait', () => {
      for (let n = 0; n < 9; n++) {
        refuse('c1', 5_000);
        clock.advance(4_980);
      }
      expect(restrictions.size).toBe(0);
    });

    test('do not count within a second of the first, whatever its caller ignored long ago', () => {
      const ask = (times: number) => {
        for (let i = 0; i < times; i++) refuse('', 1_000, 'user:a', limit('10/10s', { algorithm: 'smooth' }));
      };
      ask(1);
      clock.advance(600);
      ask(1);
      clock.advance(9_400);
      ask(1);
      clock.advance(600);
      ask(9);
      expect(restrictions.size).toBe(0);
    });
  });

  test('of one key are remembered in one place, so that no other caller is excused instead', () => {
    ignored = new IgnoredRefusals(restrictions, options(2));
    ignored.use({ ...rule('2/10m'), addresses: true });
    const ask = () => refuse('', 1_000, 'user:b', limit('10/10s', { algorithm: 'smooth' }));
    ask();
    refuse('c1', 5_000);
    for (let step = 0; step < 3; step++) {
      clock.advance(1_000);
      ask();
    }
    times(3, () => refuse('c1', 2_000));
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  test('of a global limit count whatever the main value was', () => {
    const long = limit('50/1m', { role: 'global' });
    refuse('c1', 60_000, 'user:a', long);
    clock.advance(1_001);
    for (const main of ['c2', 'c3', 'c4']) refuse(main, 59_000, 'user:a', long);
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  test('of a caller without principal restrict its address', () => {
    refuse('c1', 5_000, null);
    clock.advance(1_001);
    times(3, () => refuse('c1', 3_999, null));
    expect(restrictions.waitMs(anAddress(A))).toBe(600_000);
  });

  test('of a caller without principal do not count if the rule excludes addresses', () => {
    ignored.use({ ...rule('2/10m'), addresses: false });
    refuse('c1', 5_000, null);
    clock.advance(1_001);
    times(9, () => refuse('c1', 3_999, null));
    expect(restrictions.size).toBe(0);
    times(4, () => refuse('c1', 3_999));
    expect(restrictions.size).toBe(0);
    clock.advance(1_001);
    times(3, () => refuse('c1', 2_997));
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
  });

  // A caller has a counter of its own in the limit of a resource or a group, for the main values past those that it may hold.
  test.each(['caller', 'resource', 'group'] as const)(
    "of a bucket's windows of a second count in their second half, of a global limit's never: %s",
    role => {
      const ofASecond = limit('5/1s', { role });
      refuse('', 1_000, 'user:a', ofASecond);
      refuse('', 1_000, 'user:b', global);
      clock.advance(500);
      times(9, () => refuse('', 500, 'user:a', ofASecond));
      expect(restrictions.size).toBe(0);
      clock.advance(1);
      times(9, () => refuse('', 499, 'user:a', ofASecond));
      times(9, () => refuse('', 499, 'user:b', global));
      expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(600_000);
      expect(restrictions.waitMs(aPrincipal('user:b'))).toBe(0);
    },
  );

  test('restrict for a reason of their own, which operators are shown', () => {
    refuse('c1', 5_000);
    clock.advance(1_001);
    times(3, () => refuse('c1', 3_999));
    expect([...restrictions.listed.all()]).toMatchObject([{ key: 'user:a', reason: 'ignored_refusals' }]);
  });

  describe('by a smooth limit', () => {
    const step100 = limit('100/10s', { algorithm: 'smooth' });

    /** Whether a caller gets restricted that sends every `everyMs` for `forMs`, waiting as announced if `waits`. */
    function restricts(by: Limit, everyMs: number, forMs: number, asks = 1, waits = false): boolean {
      ignored.use({ ...rule('50/10m'), addresses: true });
      const store = newStore(clock);
      const set = limits({ caller: by });
      for (let pastMs = 0; pastMs < forMs; ) {
        let stepMs = everyMs;
        for (let i = 0; i < asks; i++) {
          const { admitted, retryAfterMs } = store.decide(set, 'user:a', '');
          if (admitted) continue;
          refuse('', retryAfterMs, 'user:a', by);
          if (waits) stepMs = retryAfterMs;
        }
        clock.advance(stepMs);
        pastMs += stepMs;
      }
      return restrictions.waitMs(aPrincipal('user:a')) > 0;
    }

    test.each([
      ['100/10s', 9, 9_000],
      ['100/10s', 25, 20_000],
      ['60/1m', 9, 9_000],
      ['1000/1s', 0.5, 9_000],
      ['5000/1s', 0.1, 9_000],
      ['6/1m', 1_000, 120_000],
    ])('of %s count in a flood with a request every %d ms', (quota, everyMs, forMs) => {
      expect(restricts(limit(quota, { algorithm: 'smooth' }), everyMs, forMs)).toBe(true);
    });

    test.each(['resource', 'group'] as const)(
      'count in a flood also by the counter of the caller in the limit of a %s',
      role => {
        const smooth = limit('100/10s', { role, algorithm: 'smooth' });
        for (let pastMs = 0; pastMs < 20_000; pastMs += 25) {
          refuse('\0', 100 - (pastMs % 100), 'user:a', smooth);
          clock.advance(25);
        }
        expect(restrictions.waitMs(aPrincipal('user:a'))).toBeGreaterThan(0);
      },
    );

    test.each([
      ['who waits as told after each', 5, 1],
      ['who sends eight at a time and then waits as told', 5, 8],
      ['who comes a little more often than it may', 95, 1],
    ])('do not count for a caller %s', (_, everyMs, asks) => {
      expect(restricts(step100, everyMs, 600_000, asks, true)).toBe(false);
    });

    test.each([
      ['in the first half of its step, however often', [0, 1_000, 1_480, 2_000, 2_480], 0],
      ['in the second half, a second after the first refusal', [0, 600, 1_000, 1_481], 1],
      ['before that', [0, 600, 979], 0],
      ['a step after the last wait of a caller that ignored it', [0, 600, 1_000, 1_600, 2_979, 3_580], 2],
      ['more than a step after it', [0, 600, 1_000, 1_600, 2_980, 3_580], 1],
    ])('%s: refusals at %j ms count %d times', (_, moments, count) => {
      let noted = 0;
      const tally = { note: () => void noted++, forget: () => {} };
      ignored = new IgnoredRefusals(restrictions, { ...options(), tally });
      ignored.use({ ...rule('9/10m'), addresses: true });
      let pastMs = 0;
      for (const atMs of moments) {
        clock.advance(atMs - pastMs);
        pastMs = atMs;
        refuse('', 1_000, 'user:a', limit('10/10s', { algorithm: 'smooth' }));
      }
      expect(noted).toBe(count);
    });

    test('do not count within a second of the last one whose wait was kept, though one before was ignored', () => {
      const ask = () => refuse('', 1_000, 'user:a', limit('10/10s', { algorithm: 'smooth' }));
      // The second comes too early, the third and the fourth in time.
      for (const afterMs of [0, 600, 400, 1_000]) {
        clock.advance(afterMs);
        ask();
      }
      clock.advance(600);
      times(9, ask);
      expect(restrictions.size).toBe(0);
    });

    test('do not count within a second of the first, since those may have been in flight', () => {
      expect(restricts(step100, 0.4, 1_000, 2)).toBe(false);
    });
  });

  test('from an address on the allow list do not count', () => {
    restrictions.neverRestrict(() => true);
    refuse('c1', 5_000);
    clock.advance(1_001);
    times(9, () => refuse('c1', 3_999));
    expect(restrictions.waitMs(aPrincipal('user:a'))).toBe(0);
  });

  test('do not count while the rule is off', () => {
    ignored.use(null);
    refuse('c1', 5_000);
    clock.advance(1_001);
    ignored.use({ ...rule('1/10m'), addresses: true });
    times(2, () => refuse('c1', 3_999));
    expect(restrictions.size).toBe(0);
  });
});
