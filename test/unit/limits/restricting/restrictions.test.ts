import { beforeEach, describe, expect, test } from 'vitest';
import type { EvictionEvent, RestrictionReason } from '../../../../src/core/index.ts';
import {
  type AnonymousRestriction,
  type Lift,
  NO_OTHERS,
  type Others,
  type Restricted,
  type Restriction,
  type RestrictionListener,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { anAddress, aPrincipal, beyond } from '../../../support/restricted-clients.ts';
import { FrozenClock } from '../frozen-clock.ts';

const PLACES = { operator: 3, principal: 3, address: 3, webhook: 3 };

let clock: FrozenClock;
let heard: string[];
let restrictions: Restrictions;

beforeEach(() => {
  clock = new FrozenClock();
  heard = [];
  restrictions = new Restrictions({ clock, listener: new Ears(), others: NO_OTHERS, places: PLACES });
});

/** Others that take what begins. */
const telling = (announced: AnonymousRestriction[]): Others => ({
  ...NO_OTHERS,
  began: each => announced.push(each),
});

class Ears implements RestrictionListener {
  restricted(restriction: Restriction): void {
    heard.push(`restricted ${restriction.kind} ${restriction.key} for ${restriction.reason}`);
  }
  released(restriction: Restriction): void {
    heard.push(`released ${restriction.kind} ${restriction.key}`);
  }
  prolonged(restriction: Restriction): void {
    heard.push(`prolonged ${restriction.kind} ${restriction.key} for ${restriction.reason}`);
  }
  evicted({ table, key }: EvictionEvent): void {
    heard.push(`evicted ${key} from ${table}`);
  }
}

function restrictAddress(by: Restrictions, key: string, reason: RestrictionReason, forMs: number): void {
  by.restrict({ kind: 'address', key, webhook: '', reason }, forMs);
}

function restrictPrincipal(by: Restrictions, key: string, reason: RestrictionReason, forMs: number): void {
  by.restrict({ kind: 'principal', key, webhook: '', reason }, forMs);
}

function restrictWebhook(
  by: Restrictions,
  key: string,
  webhook: string,
  reason: RestrictionReason,
  forMs: number,
): void {
  by.restrict({ kind: 'webhook', key, webhook, reason }, forMs);
}

test('an address is refused until its time is over', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 600_000);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(600_000);
  expect(restrictions.waitMs(anAddress('192.0.2.2'))).toBe(0);
  clock.advance(599_979);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(21);
  clock.advance(1);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(0);
});

test('a step of the wall clock does not change how long a restriction lasts', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 600_000);
  clock.stepWorld(3_600_000);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(600_000);
});

test('a listener hears who is restricted, why, and when it is over', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  restrictAddress(restrictions, '192.0.2.2', 'invalid_requests', 3_000);
  restrictPrincipal(restrictions, 'user:a', 'ignored_refusals', 2_000);
  clock.advance(1_000);
  restrictions.sweep();
  expect(heard).toEqual([
    'restricted address 192.0.2.1 for invalid_requests',
    'restricted address 192.0.2.2 for invalid_requests',
    'restricted principal user:a for ignored_refusals',
    'released address 192.0.2.1',
  ]);
  for (const released of ['principal user:a', 'address 192.0.2.2']) {
    clock.advance(1_000);
    restrictions.sweep();
    expect(heard.at(-1)).toBe(`released ${released}`);
  }
  expect(restrictions.size).toBe(0);
});

test('a release is announced once, whether a check or the sweep comes first', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  clock.advance(1_000);
  restrictions.waitMs(anAddress('192.0.2.1'));
  expect(heard.at(-1)).toBe('released address 192.0.2.1');
  restrictions.sweep();
  restrictions.waitMs(anAddress('192.0.2.1'));
  expect(heard.filter(line => line.startsWith('released'))).toHaveLength(1);
});

test('a restriction announces its end by the wall clock, also when it is prolonged and when it is over', () => {
  const ends: number[] = [];
  const note = ({ untilEpochMs }: Restriction) => void ends.push(untilEpochMs);
  const listener = { restricted: note, prolonged: note, released: note, evicted: () => {} };
  const by = new Restrictions({ clock, listener, others: NO_OTHERS });
  restrictAddress(by, '192.0.2.1', 'invalid_requests', 600_000);
  clock.advance(100_000);
  restrictAddress(by, '192.0.2.1', 'invalid_requests', 600_000);
  clock.advance(600_000);
  by.sweep();
  expect(ends).toEqual([1_700_000_600_000, 1_700_000_700_000, 1_700_000_700_000]);
});

test('a second restriction with the same end changes nothing, and nobody hears of it', () => {
  const announced: AnonymousRestriction[] = [];
  const by = new Restrictions({ clock, listener: new Ears(), others: telling(announced) });
  restrictAddress(by, '192.0.2.1', 'invalid_requests', 5_000);
  clock.advance(1_000);
  restrictAddress(by, '192.0.2.1', 'ignored_refusals', 4_000);
  expect(by.reasonFor({ kind: 'address', key: '192.0.2.1' })).toBe('invalid_requests');
  expect([heard, announced.length]).toEqual([['restricted address 192.0.2.1 for invalid_requests'], 1]);
});

test('whether one is in force can be asked for each kind, up to its last millisecond', () => {
  const first: Restricted = { kind: 'address', key: '192.0.2.1', webhook: '', reason: 'invalid_requests' };
  const all: Restricted[] = [
    first,
    { kind: 'principal', key: 'user:a', webhook: '', reason: 'operator' },
    { kind: 'principal', key: 'user:b', webhook: '', reason: 'ignored_refusals' },
    { kind: 'webhook', key: '192.0.2.1', webhook: 'abc', reason: 'webhook_not_found' },
  ];
  for (const whom of all) restrictions.restrict(whom, 1_000);
  clock.advance(979);
  restrictions.sweep();
  expect(all.map(whom => restrictions.isRestricted(whom))).toEqual([true, true, true, true]);
  expect(restrictions.isRestricted({ ...first, key: '192.0.2.2' })).toBe(false);
  clock.advance(1);
  expect(all.map(whom => restrictions.isRestricted(whom))).toEqual([false, false, false, false]);
});

test('a principal, an address and a webhook with the same text are separate', () => {
  restrictPrincipal(restrictions, 'x', 'ignored_refusals', 1_000);
  expect(restrictions.waitMs(anAddress('x'))).toBe(0);
  expect(restrictions.webhookWaitMs('x', 'abc')).toBe(0);
});

test('an address restricted on one webhook is refused there only, and no other address is', () => {
  restrictWebhook(restrictions, '192.0.2.1', 'abc', 'webhook_not_found', 1_000);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'abc')).toBe(1_000);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'def')).toBe(0);
  expect(restrictions.webhookWaitMs('192.0.2.2', 'abc')).toBe(0);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(0);
});

test('a second restriction may make the first longer, never shorter', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 5_000);
  restrictAddress(restrictions, '192.0.2.1', 'ignored_refusals', 1_000);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(5_000);
  restrictAddress(restrictions, '192.0.2.1', 'ignored_refusals', 9_000);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(9_000);
  expect(restrictions.size).toBe(1);
  expect(heard).toEqual([
    'restricted address 192.0.2.1 for invalid_requests',
    'prolonged address 192.0.2.1 for ignored_refusals',
  ]);
});

test.each([
  ['address', ''],
  ['webhook', 'abc'],
] as const)(
  'one that begins when another of the client is over begins anew, though none was swept: %s',
  (kind, webhook) => {
    const whom: Restricted = { kind, key: '192.0.2.1', webhook, reason: 'invalid_requests' };
    restrictions.restrict(whom, 1_000);
    clock.advance(980);
    restrictions.restrict({ ...whom, reason: 'webhook_not_found' }, 10);
    expect(heard).toEqual([
      `restricted ${kind} 192.0.2.1 for invalid_requests`,
      `released ${kind} 192.0.2.1`,
      `restricted ${kind} 192.0.2.1 for webhook_not_found`,
    ]);
    expect([...restrictions.listed.all()]).toMatchObject([
      { sinceEpochMs: 1_700_000_000_980, untilEpochMs: 1_700_000_000_990, slackMs: 0.2 },
    ]);
  },
);

test('an address on the allow list is never restricted', () => {
  restrictions.neverRestrict(address => address === '192.0.2.1');
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  restrictWebhook(restrictions, '192.0.2.1', 'abc', 'webhook_not_found', 1_000);
  restrictAddress(restrictions, '192.0.2.2', 'invalid_requests', 1_000);
  expect(restrictions.size).toBe(1);
  expect(restrictions.isExempt('192.0.2.1')).toBe(true);
});

test('an address that is put on the allow list is released', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  restrictAddress(restrictions, '192.0.2.2', 'invalid_requests', 1_000);
  restrictWebhook(restrictions, '192.0.2.1', 'abc', 'webhook_not_found', 1_000);
  restrictions.neverRestrict(address => address === '192.0.2.1');
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(0);
  expect(restrictions.webhookWaitMs('192.0.2.1', 'abc')).toBe(0);
  expect(restrictions.waitMs(anAddress('192.0.2.2'))).toBe(1_000);
  expect(heard.filter(line => line.startsWith('released'))).toHaveLength(2);
});

test('without room, the one nearest its end gives way, and that is reported', () => {
  for (const [n, forMs] of [2_000, 1_000, 3_000, 1_500].entries())
    restrictAddress(restrictions, `192.0.2.${n}`, 'invalid_requests', forMs);
  expect(heard.slice(3)).toEqual([
    'evicted 192.0.2.1 from address',
    'restricted address 192.0.2.3 for invalid_requests',
  ]);
  expect([0, 1, 2, 3].map(n => restrictions.waitMs(anAddress(`192.0.2.${n}`)))).toEqual([
    2_000, 0, 3_000, 1_500,
  ]);
});

test('an expired restriction makes room', () => {
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 1_000);
  for (const n of [2, 3]) restrictAddress(restrictions, `192.0.2.${n}`, 'invalid_requests', 9_000);
  clock.advance(1_000);
  restrictAddress(restrictions, '192.0.2.4', 'invalid_requests', 9_000);
  expect(heard.slice(3)).toEqual([
    'released address 192.0.2.1',
    'restricted address 192.0.2.4 for invalid_requests',
  ]);
  expect([1, 2, 3, 4].map(n => restrictions.waitMs(anAddress(`192.0.2.${n}`)))).toEqual([
    0, 8_000, 8_000, 9_000,
  ]);
});

test('a restriction in force can be prolonged without room for another', () => {
  for (const n of [1, 2, 3]) restrictAddress(restrictions, `192.0.2.${n}`, 'invalid_requests', 1_000);
  restrictAddress(restrictions, '192.0.2.1', 'invalid_requests', 5_000);
  expect(restrictions.waitMs(anAddress('192.0.2.1'))).toBe(5_000);
});

describe('a restriction shared between gateways', () => {
  const forTenSeconds = 10_000;

  /** Two gateways, of which the second adopts what the first announces. */
  function pair() {
    const announced: AnonymousRestriction[] = [];
    const deaf = { restricted: () => {}, prolonged: () => {}, released: () => {}, evicted: () => {} };
    const first = new Restrictions({ clock, listener: deaf, others: telling(announced) });
    const second = new Restrictions({
      clock,
      listener: new Ears(),
      others: { ...NO_OTHERS, began: each => heard.push(`announced ${each.kind}`) },
      places: PLACES,
    });
    const tell = () => {
      for (const each of announced.splice(0)) second.gossip.adopt(beyond(each));
    };
    return { first, second, announced, tell };
  }

  test('does not name its subject', () => {
    const { first, announced } = pair();
    restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
    expect(announced.map(beyond)).toEqual([
      {
        kind: 'address',
        digest: expect.stringMatching(/^[\w-]{22}$/),
        reason: 'invalid_requests',
        forMs: forTenSeconds,
        lifts: 0,
        sinceEpochMs: 1_700_000_000_000,
        network: '',
        owner: '',
      },
    ]);
  });

  test('applies at the other gateway to its subject only, and is not announced again', () => {
    const { first, second, tell } = pair();
    restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
    restrictPrincipal(first, 'user:a', 'ignored_refusals', forTenSeconds);
    restrictWebhook(first, '192.0.2.2', 'abc', 'webhook_not_found', forTenSeconds);
    tell();
    expect([second.waitMs(anAddress('192.0.2.1')), second.waitMs(anAddress('192.0.2.2'))]).toEqual([
      10_000, 0,
    ]);
    expect([second.waitMs(aPrincipal('user:a')), second.waitMs(aPrincipal('192.0.2.1'))]).toEqual([
      10_000, 0,
    ]);
    expect([second.webhookWaitMs('192.0.2.2', 'abc'), second.webhookWaitMs('192.0.2.2', 'abd')]).toEqual([
      10_000, 0,
    ]);
    expect(heard).toEqual([
      'restricted address 192.0.2.1 for invalid_requests',
      'restricted principal user:a for ignored_refusals',
      'restricted webhook 192.0.2.2 for webhook_not_found',
    ]);
    expect([second.size, second.adopted]).toEqual([3, 0]);
  });

  test('ends at the other gateway as well, whether its subject sent anything or not', () => {
    const { first, second, tell } = pair();
    for (const n of [1, 2]) restrictAddress(first, `192.0.2.${n}`, 'invalid_requests', forTenSeconds);
    tell();
    expect(second.waitMs(anAddress('192.0.2.1'))).toBe(10_000);
    clock.advance(forTenSeconds);
    expect([second.waitMs(anAddress('192.0.2.1')), second.waitMs(anAddress('192.0.2.2'))]).toEqual([0, 0]);
    second.sweep();
    expect(second.size).toBe(0);
    expect(heard).toEqual([
      'restricted address 192.0.2.1 for invalid_requests',
      'released address 192.0.2.1',
    ]);
  });

  test('does not apply to addresses on the gateway’s own allow list, even if added later', () => {
    const { first, second, tell } = pair();
    second.neverRestrict(address => address === '192.0.2.1');
    for (const n of [1, 2]) restrictAddress(first, `192.0.2.${n}`, 'invalid_requests', forTenSeconds);
    tell();
    expect([second.waitMs(anAddress('192.0.2.1')), second.waitMs(anAddress('192.0.2.2'))]).toEqual([
      0, 10_000,
    ]);
    second.neverRestrict(address => address === '192.0.2.2');
    expect([second.waitMs(anAddress('192.0.2.1')), second.waitMs(anAddress('192.0.2.2'))]).toEqual([
      10_000, 0,
    ]);
  });

  describe('of a client that is never restricted here', () => {
    const listed = (by: Restrictions) => [...by.listed.all()].map(each => each.key ?? each.kind);

    test('is listed and counted nowhere, as soon as the list names the client', () => {
      const { first, second, tell } = pair();
      restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
      restrictPrincipal(first, 'user:a', 'ignored_refusals', forTenSeconds);
      tell();
      expect(listed(second)).toEqual(['principal', 'address']);
      const [, { digest } = { digest: '' }] = second.listed.all();
      second.neverRestrict(key => key === 'user:a', [{ kind: 'principal', key: 'user:a' }]);
      expect([listed(second), second.size, second.adopted]).toEqual([['address'], 1, 1]);
      second.neverRestrict(key => key === '192.0.2.1', [{ kind: 'address', key: '192.0.2.1' }]);
      expect([listed(second), second.size, second.adopted]).toEqual([['principal'], 1, 1]);
      expect(second.listed.withDigest(digest)).toEqual([]);
      second.neverRestrict(() => false);
      expect(second.listed.withDigest(digest)).toMatchObject([{ kind: 'address' }]);
    });

    test('is told to others all the same: they have lists of their own', () => {
      const { first, second, tell } = pair();
      second.neverRestrict(() => true, [{ kind: 'address', key: '192.0.2.1' }]);
      restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
      tell();
      expect([second.size, [...second.gossip.running()].length]).toEqual([0, 1]);
    });

    test('is no longer listed when a request has told its name, and makes room again when it ends', () => {
      const { first, second, tell } = pair();
      restrictWebhook(first, '192.0.2.1', 'abc', 'webhook_not_found', forTenSeconds);
      tell();
      second.neverRestrict(key => key.startsWith('192.0.2.'));
      expect(listed(second)).toEqual(['webhook']);
      expect(second.webhookWaitMs('192.0.2.1', 'abc')).toBe(0);
      expect([listed(second), second.size, second.adopted]).toEqual([[], 0, 0]);
      clock.advance(forTenSeconds);
      second.sweep();
      expect([[...second.gossip.running()], second.size]).toEqual([[], 0]);
    });

    test('is listed again as soon as the list names it no more, also if a request has told its name meanwhile', () => {
      const { first, second, tell } = pair();
      restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
      tell();
      second.neverRestrict(() => true, [{ kind: 'address', key: '192.0.2.1' }]);
      expect(second.waitMs(anAddress('192.0.2.1'))).toBe(0);
      expect([listed(second), second.size, second.adopted]).toEqual([[], 0, 0]);
      second.neverRestrict(() => false);
      expect([listed(second), second.size, second.adopted]).toEqual([['address'], 1, 1]);
    });

    test('is lifted at all gateways by one that knows the name, also at one that starts later', () => {
      const { first, announced } = pair();
      const lifts: Lift[] = [];
      const named = new Restrictions({
        clock,
        listener: new Ears(),
        others: { ...telling(announced), lifted: lift => lifts.push(lift) },
      });
      restrictAddress(named, '192.0.2.1', 'invalid_requests', forTenSeconds);
      restrictWebhook(named, '192.0.2.2', 'abc', 'webhook_not_found', forTenSeconds);
      named.neverRestrict(key => key.startsWith('192.0.2.'));
      expect(lifts).toHaveLength(2);
      for (const each of announced) first.gossip.adopt(beyond(each));
      for (const each of lifts) first.gossip.adoptLift(each);
      expect([listed(first), first.size]).toEqual([[], 0]);
    });
  });

  test('changes nothing where it began; a longer one prolongs it silently', () => {
    const { first, second, announced, tell } = pair();
    restrictAddress(second, '192.0.2.1', 'invalid_requests', forTenSeconds);
    restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
    const [told] = announced;
    clock.advance(40);
    tell();
    expect(second.waitMs(anAddress('192.0.2.1'))).toBe(9_960);
    if (told !== undefined) second.gossip.adopt({ ...beyond(told), forMs: 20_000 });
    expect([second.waitMs(anAddress('192.0.2.1')), second.size]).toEqual([20_000, 1]);
    expect(heard).toEqual(['restricted address 192.0.2.1 for invalid_requests', 'announced address']);
  });

  test('that prolongs one held here gives it its reason, and one that begins after a lift its beginning as well', () => {
    const { first, second, announced, tell } = pair();
    restrictAddress(second, '192.0.2.1', 'ignored_refusals', forTenSeconds);
    clock.advance(5_000);
    restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
    const [told] = announced;
    tell();
    const [listed] = second.listed.all();
    expect(listed).toMatchObject({ reason: 'invalid_requests', sinceEpochMs: 1_700_000_000_000 });
    expect(second.reasonFor({ kind: 'address', key: '192.0.2.1' })).toBe('invalid_requests');
    if (told !== undefined)
      second.gossip.adopt({ ...beyond(told), lifts: 1, reason: 'operator', forMs: 1_000 });
    if (told !== undefined)
      second.gossip.adopt({ ...beyond(told), lifts: 1, reason: 'webhook_not_found', forMs: 1_000 });
    expect([...second.listed.all()].map(({ reason }) => reason).sort()).toEqual([
      'operator',
      'webhook_not_found',
    ]);
    for (const { sinceEpochMs } of second.listed.all()) expect(sinceEpochMs).toBe(1_700_000_005_000);
  });

  test('begins anew where the one before is over, though not swept, as it does where it was', () => {
    const { first, second, tell } = pair();
    for (const key of ['192.0.2.1', '192.0.2.2'])
      restrictAddress(first, key, 'ignored_refusals', forTenSeconds);
    tell();
    second.waitMs(anAddress('192.0.2.1'));
    clock.advance(9_980);
    for (const key of ['192.0.2.1', '192.0.2.2'])
      restrictAddress(first, key, 'invalid_requests', forTenSeconds);
    heard.length = 0;
    tell();
    expect([heard, second.adopted]).toEqual([['released address 192.0.2.1'], 2]);
    const [listed] = [...second.listed.all()];
    expect(listed).toMatchObject({ reason: 'invalid_requests', sinceEpochMs: 1_700_000_009_980 });
    expect([...second.listed.all()]).toEqual(
      [...first.listed.all()].map(each => ({ ...each, key: null, place: expect.any(Number) })),
    );
    expect(second.waitMs(anAddress('192.0.2.1'))).toBe(forTenSeconds);
    expect(heard.at(-1)).toBe('restricted address 192.0.2.1 for invalid_requests');
  });

  test('that is over is not begun anew by late news of it', () => {
    const { first, second, tell } = pair();
    restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
    const late = [...first.gossip.running()];
    tell();
    second.waitMs(anAddress('192.0.2.1'));
    clock.advance(9_990);
    for (const each of late) second.gossip.adopt({ ...beyond(each), forMs: 260 });
    expect([second.waitMs(anAddress('192.0.2.1')), heard.at(-1)]).toEqual([0, 'released address 192.0.2.1']);
  });

  test('ends at the same millisecond at a gateway that learns of it just before its end', () => {
    const { first, second } = pair();
    restrictAddress(first, '192.0.2.1', 'invalid_requests', forTenSeconds);
    clock.advance(9_900);
    for (const each of first.gossip.running()) second.gossip.adopt(beyond(each));
    clock.advance(79);
    expect([first, second].map(each => each.waitMs(anAddress('192.0.2.1')) > 0)).toEqual([true, true]);
    clock.advance(1);
    expect([first, second].map(each => each.waitMs(anAddress('192.0.2.1')) > 0)).toEqual([false, false]);
  });

  test('of less than a second ends at the same millisecond as well', () => {
    const { first, second, tell } = pair();
    restrictAddress(first, '192.0.2.1', 'invalid_requests', 500);
    tell();
    clock.advance(489);
    expect([first, second].map(each => each.waitMs(anAddress('192.0.2.1')))).toEqual([11, 11]);
    clock.advance(1);
    expect([first, second].map(each => each.waitMs(anAddress('192.0.2.1')))).toEqual([0, 0]);
  });

  test('can be announced again with its remaining time', () => {
    const { first, second, tell } = pair();
    for (const n of [1, 2]) restrictAddress(first, `192.0.2.${n}`, 'invalid_requests', forTenSeconds);
    tell();
    second.waitMs(anAddress('192.0.2.1'));
    clock.advance(1_000);
    const digests = (by: Restrictions) => [...by.gossip.running()].map(({ digest }) => digest).sort();
    expect(digests(second)).toEqual(digests(first));
    expect([...second.gossip.running()].map(({ forMs }) => forMs)).toEqual([9_000, 9_000]);
    clock.advance(9_000);
    expect([...second.gossip.running()]).toEqual([]);
  });

  test('gives way beyond the maximum, and that is reported', () => {
    const { first, second, tell } = pair();
    for (const n of [1, 2, 3, 4]) restrictAddress(first, `192.0.2.${n}`, 'invalid_requests', forTenSeconds);
    tell();
    expect([second.size, heard]).toEqual([3, ['evicted null from address']]);
  });
});

test('the restrictions in force can be listed, up to a number', () => {
  const whom = { kind: 'address', webhook: '', reason: 'invalid_requests' } as const;
  restrictions.restrict({ ...whom, key: '192.0.2.1' }, 1_000);
  restrictions.restrict({ ...whom, key: '192.0.2.2' }, 5_000);
  const keys = (max: number) => restrictions.listed.byName(max).map(({ key }) => key);
  expect(keys(1)).toEqual(['192.0.2.1']);
  expect(keys(9)).toEqual(['192.0.2.1', '192.0.2.2']);
  clock.advance(1_000);
  expect(keys(9)).toEqual(['192.0.2.2']);
});
