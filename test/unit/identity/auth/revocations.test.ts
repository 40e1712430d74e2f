import { beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../../../../src/core/index.ts';
import {
  type AnonymousRevocation,
  type IssuerRevocations,
  REVOCATION_LIMITS,
  Revocations,
} from '../../../../src/identity/auth/index.ts';
import { NO_SUBJECT, revocableOf, sessionDigest } from '../../../../src/identity/auth/revocation-rules.ts';
import { hearing, START_S } from './fixture.ts';

const ISSUER = 'https://id.example.com/realms/main';
const RULES = { notBeforeS: 0, leewayS: 0, maxLifetimeS: null };
const DAY_S = 86_400;

let nowS = START_S;
let evictions = 0;
const clock = { epochMs: () => nowS * 1_000, monotonicMs: () => 0 };

function revocations(changed: Partial<typeof REVOCATION_LIMITS> = {}): Revocations {
  return new Revocations({ ...REVOCATION_LIMITS, ...changed }, clock, () => {
    evictions += 1;
  });
}

const issuer = (changed: Partial<typeof REVOCATION_LIMITS> = {}) => revocations(changed).of(ISSUER);
const token = (issuedAtS: number, subject: string | null = 'ada', sid = 's1') => ({
  issuedAtS,
  subject: subject === null ? null : digestOf(subject),
  session: sessionDigest(sid),
  unnamedSessions: null,
});
/** A token without `sid`. */
const unnamed = (issuedAtS: number, subject = 'ada') =>
  revocableOf({ claims: { iat: issuedAtS, sub: subject }, signingInput: '' });
const size = (all: Revocations) => [...all.running()].length;

beforeEach(() => {
  nowS = START_S;
  evictions = 0;
});

describe('the mark of the configuration', () => {
  it('refuses what was issued before it, for every subject, and nothing issued in the same second', () => {
    const all = issuer();
    all.use({ ...RULES, notBeforeS: START_S });
    expect(all.refusal(token(START_S - 1))).toBe('not_before');
    expect(all.refusal(token(START_S - 1, null))).toBe('not_before');
    expect(all.refusal(token(START_S))).toBeNull();
  });

  it('may be lowered, and a push does not lower it', () => {
    const all = issuer();
    all.use({ ...RULES, notBeforeS: START_S });
    all.push({ markS: 0, order: 1 });
    expect(all.refusal(token(START_S - 1))).toBe('not_before');
    all.use(RULES);
    expect(all.refusal(token(0))).toBeNull();
  });
});

describe('a pushed mark', () => {
  it('refuses what was issued before it, and may be lowered by a newer push', () => {
    const all = issuer();
    expect(all.push({ markS: START_S, order: 5 })).toBe('applied');
    expect([all.refusal(token(START_S - 1)), all.refusal(token(START_S))]).toEqual(['not_before', null]);
    expect(all.push({ markS: START_S - 9, order: 6 })).toBe('applied');
    expect([all.refusal(token(START_S - 10)), all.refusal(token(START_S - 9))]).toEqual(['not_before', null]);
    expect(all.facts).toMatchObject({ notBeforeS: START_S - 9, pushedS: START_S - 9 });
  });

  it('is not changed by an older push, and of two of one order the higher mark counts', () => {
    const all = issuer();
    all.push({ markS: START_S - 50, order: 5 });
    expect(all.push({ markS: START_S, order: 4 })).toBe('outdated');
    expect(all.push({ markS: START_S - 60, order: 5 })).toBe('outdated');
    expect(all.push({ markS: START_S - 50, order: 5 })).toBe('outdated');
    expect(all.facts.pushedS).toBe(START_S - 50);
    expect(all.push({ markS: START_S - 40, order: 5 })).toBe('applied');
    expect(all.facts.pushedS).toBe(START_S - 40);
  });

  it('that lowers the mark is shared for longer than the one it replaces, which would else come back', () => {
    const [one, two, later] = [revocations(), revocations(), revocations()];
    const told: AnonymousRevocation[] = [];
    one.shareBy(hearing(each => told.push(each)));
    two.shareBy(hearing(each => told.push(each)));
    one.of(ISSUER).observeLife(10 * DAY_S);
    one.of(ISSUER).push({ markS: START_S, order: 1 });
    const high = told.find(each => each.kind === 'push');
    if (high === undefined) throw new Error('it was not told');
    // The second gateway knows nothing of tokens that live ten days.
    two.adopt(high);
    two.of(ISSUER).push({ markS: 0, order: 2 });
    const low = told.findLast(each => each.kind === 'push');
    expect(low?.whom).toBe('0');
    expect(low?.forMs).toBeGreaterThan(high.forMs);
    for (const each of [low, high]) if (each !== undefined) later.adopt(each);
    expect(later.of(ISSUER).refusal(token(START_S - 1))).toBeNull();
  });

  it('is told again by a gateway that knew an older one which would last longer', () => {
    const [one, two] = [revocations(), revocations()];
    const told: AnonymousRevocation[] = [];
    two.shareBy(hearing(each => told.push(each)));
    two.of(ISSUER).use({ ...RULES, maxLifetimeS: 10 * DAY_S });
    two.of(ISSUER).push({ markS: START_S, order: 1 });
    one.shareBy(hearing(each => two.adopt(each)));
    one.of(ISSUER).push({ markS: 0, order: 2 });
    expect(told.map(({ whom, value }) => [whom, value])).toEqual([
      [String(START_S), 1],
      ['0', 2],
    ]);
    expect(told[1]?.forMs).toBeGreaterThan(told[0]?.forMs ?? 0);
  });
});

describe('the mark that came with a redeemed code', () => {
  it('refuses what was issued to that subject before it', () => {
    const all = issuer();
    all.learnPolicy('ada', START_S);
    expect([all.refusal(token(START_S - 1)), all.refusal(token(START_S))]).toEqual(['not_before', null]);
    expect(all.refusal(token(START_S - 1, 'bob'))).toBeNull();
    expect(all.facts.subjects).toBe(1);
  });

  it.each(['before', 'after'])('goes when a push takes back the mark for everyone, learnt %s', when => {
    const all = issuer();
    if (when === 'before') all.learnPolicy('ada', START_S);
    all.push({ markS: START_S, order: 1 });
    if (when === 'after') all.learnPolicy('ada', START_S);
    all.learnPolicy('bob', START_S + 1);
    all.revokeSubject('eve', START_S);
    all.push({ markS: START_S - 9, order: 2 });
    expect(all.refusal(token(START_S - 1))).toBeNull();
    // His own, which is another; and hers, which is no policy.
    expect(all.refusal(token(START_S - 1, 'bob'))).toBe('not_before');
    expect(all.refusal(token(START_S - 1, 'eve'))).toBe('not_before');
    all.push({ markS: START_S, order: 3 });
    expect(all.refusal(token(START_S - 1))).toBe('not_before');
  });

  it('goes at gateways that start later as well', () => {
    const [one, later] = [revocations(), revocations()];
    one.of(ISSUER).learnPolicy('ada', START_S);
    const told: AnonymousRevocation[] = [...one.running()];
    one.shareBy(hearing(each => told.push(each)));
    one.of(ISSUER).push({ markS: START_S, order: 1 });
    one.of(ISSUER).push({ markS: 0, order: 2 });
    // In whatever order Redis tells.
    for (const each of told.toReversed()) later.adopt(each);
    expect(later.of(ISSUER).refusal(token(START_S - 1))).toBeNull();
  });
});

describe('the mark of a subject', () => {
  it('refuses what was issued to that subject before it', () => {
    const all = issuer();
    all.revokeSubject('ada', START_S);
    expect(all.refusal(token(START_S - 1))).toBe('not_before');
    expect(all.refusal(token(START_S))).toBeNull();
    expect(all.refusal(token(START_S - 1, 'bob'))).toBeNull();
    expect(all.refusal(token(START_S - 1, null))).toBeNull();
  });

  it.each([0, -1, Number.NaN, START_S - 100])('is not lowered by %d', lower => {
    const all = issuer();
    all.revokeSubject('ada', START_S);
    all.revokeSubject('ada', lower);
    expect(all.refusal(token(START_S - 1))).toBe('not_before');
  });

  it('is forgotten when a day and the leeway have passed and no longer-lived token was seen', () => {
    const all = revocations();
    all.of(ISSUER).use({ ...RULES, leewayS: 30 });
    all.of(ISSUER).revokeSubject('ada', START_S);
    nowS += DAY_S + 29;
    all.of(ISSUER).revokeSubject('bob', nowS);
    expect(size(all)).toBe(2);
    nowS += 1;
    all.of(ISSUER).revokeSubject('eve', nowS);
    expect(size(all)).toBe(2);
    expect([all.of(ISSUER).refusal(token(START_S - 1)), evictions]).toEqual([null, 0]);
  });

  it('is kept as long as the longest-lived token that was seen, here or elsewhere', () => {
    const [one, two] = [revocations(), revocations()];
    one.shareBy(hearing(each => two.adopt(each)));
    one.of(ISSUER).observeLife(10 * DAY_S);
    one.of(ISSUER).observeLife(300);
    for (const all of [one, two]) all.of(ISSUER).revokeSubject('ada', START_S);
    expect(one.of(ISSUER).facts).toMatchObject({ keptForS: 10 * DAY_S, keptBy: 'longest token seen' });
    nowS += 9 * DAY_S;
    for (const all of [one, two]) {
      all.of(ISSUER).revokeSubject('bob', nowS);
      expect(all.of(ISSUER).refusal(token(START_S - 1))).toBe('not_before');
    }
  });

  it('is kept for no shorter time because another gateway saw shorter-lived tokens', () => {
    const all = issuer();
    all.observeLife(10 * DAY_S);
    all.adopt({ kind: 'lifetime', issuer: '', whom: '', value: 2 * DAY_S, forMs: 4 * DAY_S * 1_000 });
    all.revokeSubject('ada', START_S);
    nowS += 9 * DAY_S;
    all.revokeSubject('bob', nowS);
    expect(all.refusal(token(START_S - 1))).toBe('not_before');
  });

  it('is told anew, for longer, when a token is seen that lives longer', () => {
    const all = revocations();
    const told: AnonymousRevocation[] = [];
    all.of(ISSUER).revokeSubject('ada', START_S);
    all.shareBy(hearing(each => told.push(each)));
    all.of(ISSUER).observeLife(DAY_S);
    expect(all.of(ISSUER).facts).toMatchObject({ keptForS: DAY_S, keptBy: 'default' });
    all.of(ISSUER).observeLife(10 * DAY_S - 1);
    expect(told.map(({ kind, whom, value, forMs }) => [kind, whom, value, forMs])).toEqual([
      ['lifetime', '', 10 * DAY_S, 20 * DAY_S * 1_000],
      ['subject', digestOf('ada'), START_S, 10 * DAY_S * 1_000],
    ]);
    all.of(ISSUER).observeLife(10 * DAY_S);
    expect(told).toHaveLength(2);
  });

  it('is kept as long as the configuration lets tokens live, if it says so', () => {
    const all = revocations();
    all.of(ISSUER).use({ notBeforeS: 0, leewayS: 30, maxLifetimeS: 300 });
    all.of(ISSUER).revokeSubject('ada', START_S);
    expect(all.of(ISSUER).facts).toMatchObject({ keptForS: 330, keptBy: 'configuration' });
    expect([...all.running()].map(({ forMs }) => forMs)).toEqual([330_000]);
    nowS += 331;
    all.of(ISSUER).revokeSubject('bob', nowS);
    expect(size(all)).toBe(1);
  });

  it('is not undone by a longer lifetime: what the shorter one refused, it refuses still', () => {
    const [one, later] = [revocations(), revocations()];
    one.shareBy(hearing(each => later.adopt(each)));
    const bound = (maxLifetimeS: number | null) => one.of(ISSUER).use({ ...RULES, maxLifetimeS });
    bound(300);
    one.of(ISSUER).endSession(sessionDigest('s1'));
    nowS += 400;
    one.of(ISSUER).endSession(sessionDigest('s2'));
    expect(one.of(ISSUER).facts.sessions).toBe(1);
    expect(one.of(ISSUER).refusal(token(START_S))).toBeNull();
    bound(null);
    for (const all of [one, later]) {
      expect(all.of(ISSUER).refusal(token(START_S))).toBe('not_before');
      expect(all.of(ISSUER).refusal(token(nowS - 300))).toBeNull();
      expect(all.of(ISSUER).refusal(token(nowS, 'ada', 's2'))).toBe('signed_out');
    }
    // The others keep it for longer, too.
    const [, ended] = [...one.running()];
    expect(ended).toMatchObject({ kind: 'session', forMs: (DAY_S + 1) * 1_000 });
    bound(null);
    expect(one.of(ISSUER).facts.notBeforeS).toBe(START_S + 100);
  });

  it('raises no mark for everyone where a configuration leaves the lifetime as it was, or shortens it', () => {
    const all = revocations();
    const told: AnonymousRevocation[] = [];
    for (const maxLifetimeS of [300, 300, 200]) all.of(ISSUER).use({ ...RULES, maxLifetimeS });
    all.of(ISSUER).revokeSubject('ada', START_S);
    all.shareBy(hearing(each => told.push(each)));
    all.of(ISSUER).use({ ...RULES, maxLifetimeS: 200 });
    expect([all.of(ISSUER).facts.notBeforeS, told]).toEqual([0, []]);
  });
});

describe('the end of a session', () => {
  it('refuses every token that was issued in that session until then, in the same second too', () => {
    const all = issuer();
    nowS += 0.9;
    all.endSession(sessionDigest('s1'));
    for (const issuedAtS of [0, START_S]) expect(all.refusal(token(issuedAtS))).toBe('signed_out');
    expect(all.refusal(token(START_S, 'ada', 's2'))).toBeNull();
    expect(all.facts).toMatchObject({ sessions: 1, subjects: 0, notBeforeS: 0 });
  });

  it('lets pass what a browser that is still signed in at the provider gets in the same session later', () => {
    const all = issuer();
    all.endSession(sessionDigest('s1'));
    expect(all.refusal(token(START_S + 1))).toBeNull();
  });

  it('also ends a token that a provider with a clock ahead has just issued', () => {
    const all = issuer();
    all.endSession(sessionDigest('s1'), START_S + 20);
    expect(all.refusal(token(START_S + 20))).toBe('signed_out');
    expect(all.refusal(token(START_S + 21))).toBeNull();
  });

  it('is forgotten when no token issued until then can live', () => {
    const all = revocations();
    all.of(ISSUER).endSession(sessionDigest('s1'));
    nowS += DAY_S + 1;
    all.of(ISSUER).endSession(sessionDigest('s2'));
    expect(size(all)).toBe(1);
    expect(all.of(ISSUER).refusal(token(nowS))).toBeNull();
  });
});

describe('a full table', () => {
  it('drops nothing for what is refused without it: old revocations may be read from Redis late', () => {
    const all = issuer({ maxEntries: 2 });
    for (const sid of ['s1', 's2', 's3', 's4']) {
      nowS += 10;
      all.endSession(sessionDigest(sid));
    }
    expect(evictions).toBe(2);
    for (const value of [START_S + 11, START_S + 21])
      all.adopt({ kind: 'session', issuer: '', whom: sessionDigest('s1'), value, forMs: 9 });
    expect([evictions, [...all.running()].length]).toEqual([2, 3]);
    expect(all.refusal(token(START_S + 10, 'ada', 's1'))).toBe('not_before');
    expect(all.refusal(token(START_S + 30, 'ada', 's4'))).toBe('signed_out');
  });

  it('refuses everything as old as what it drops, and nothing that is issued from now on', () => {
    const all = issuer({ maxEntries: 100 });
    for (let i = 0; i < 150; i += 1) {
      nowS = START_S + i;
      all.endSession(sessionDigest(`session ${i}`));
    }
    expect(evictions).toBe(50);
    expect(all.facts).toMatchObject({ sessions: 100, notBeforeS: START_S + 50 });
    // The session of the fiftieth eviction ended then; all who are older have to sign in again.
    expect(all.refusal(token(START_S + 49, 'ada', 'session 49'))).toBe('not_before');
    expect(all.refusal(token(START_S + 49, 'bob', 'another'))).toBe('not_before');
    expect(all.refusal(token(START_S + 50, 'bob', 'another'))).toBeNull();
    all.revokeSubject('ada', 9e15);
    for (let i = 0; i < 100; i += 1) all.revokeSubject(`subject ${i}`, nowS);
    expect(all.refusal(token(nowS, 'bob', 'another'))).toBe('not_before');
    expect(all.refusal(token(nowS + 1, 'bob', 'another'))).toBeNull();
  });

  it('is not for one user to fill: who ends too many sessions loses all of them, and everyone else is spared', () => {
    const all = issuer({ maxEntries: 100, maxSessionsOfOne: 10 });
    const ada = digestOf('ada');
    const end = (i: number) => all.endSession(sessionDigest(`session ${i}`), 0, ada);
    for (let i = 0; i < 10; i += 1) {
      end(i);
      end(i);
    }
    expect(all.facts).toMatchObject({ sessions: 10, subjects: 0 });
    expect(all.refusal(token(START_S))).toBeNull();
    for (let i = 10; i < 200; i += 1) end(i);
    expect(all.facts).toMatchObject({ sessions: 10, subjects: 1, notBeforeS: 0 });
    expect(all.refusal(token(START_S, 'ada', 'session 150'))).toBe('not_before');
    expect(all.refusal(token(START_S + 1))).toBeNull();
    expect(all.refusal(token(START_S, 'bob', 'another'))).toBeNull();
    nowS += DAY_S;
    end(200);
    expect(all.refusal(token(nowS))).toBeNull();
    expect(evictions).toBe(0);
  });

  it('is not for callers without a subject to fill either: they lose theirs together', () => {
    const all = issuer({ maxEntries: 100, maxSessionsOfOne: 10 });
    for (let i = 0; i < 200; i += 1) all.endSession(sessionDigest(`session ${i}`), 0, NO_SUBJECT);
    expect(all.facts).toMatchObject({ sessions: 10, subjects: 1, notBeforeS: 0 });
    expect(all.refusal(token(START_S, null, 'session 150'))).toBe('not_before');
    expect(all.refusal(token(START_S + 1, null, 'session 150'))).toBeNull();
    expect(all.refusal(token(START_S, 'bob', 'another'))).toBeNull();
  });

  it('holds the sessions that a provider ends without naming their subjects, each of them', () => {
    const all = issuer({ maxEntries: 100, maxSessionsOfOne: 10 });
    for (let i = 0; i < 50; i += 1) all.endSession(sessionDigest(`session ${i}`));
    expect(all.facts).toMatchObject({ sessions: 50, subjects: 0, notBeforeS: 0 });
    expect(all.refusal(token(START_S, 'ada', 'session 49'))).toBe('signed_out');
  });

  it.each(['subject', 'policy', 'session'] as const)(
    'of the kind %s tells others to drop what it drops, after it has told them what refuses as much',
    kind => {
      const all = revocations({ maxEntries: 1 });
      const told: string[] = [];
      const inWords = ({ whom, value, ...each }: Pick<AnonymousRevocation, 'kind' | 'whom' | 'value'>) =>
        `${each.kind} ${whom === digestOf('ada') ? 'ada' : whom === '' ? 'all' : 'bob'} ${value - START_S}`;
      all.shareBy({
        announce: each => told.push(inWords(each)),
        withdraw: each => told.push(`no ${inWords(each)}`),
      });
      const revoke = (name: string, beforeS: number) => {
        if (kind === 'subject') all.of(ISSUER).revokeSubject(name, beforeS);
        else if (kind === 'policy') all.of(ISSUER).learnPolicy(name, beforeS);
        else all.of(ISSUER).endSession(digestOf(name), beforeS - 1);
      };
      // Sessions end no earlier than now.
      revoke('ada', START_S + 1);
      revoke('bob', START_S + 3);
      expect(told).toEqual([`${kind} ada 1`, 'everyone all 1', `no ${kind} ada 1`, `${kind} bob 3`]);
    },
  );

  it('never refuses less because another gateway dropped less', () => {
    const all = revocations();
    for (const value of [START_S, START_S - 9])
      all.adopt({ kind: 'everyone', issuer: digestOf(ISSUER), whom: '', value, forMs: 1_000 });
    expect(all.of(ISSUER).refusal(token(START_S - 1))).toBe('not_before');
  });

  it('refuses the same at gateways that start later', () => {
    const [one, later] = [revocations({ maxEntries: 1 }), revocations({ maxEntries: 1 })];
    one.shareBy(hearing(each => later.adopt(each)));
    for (const sid of ['s1', 's2']) one.of(ISSUER).endSession(sessionDigest(sid));
    for (const all of [one, later])
      expect(all.of(ISSUER).refusal(token(START_S, null, 's3'))).toBe('not_before');
    expect([...one.running()].map(({ kind }) => kind)).toEqual(['everyone', 'session']);
  });
});

describe('tokens without a session', () => {
  it('of one subject end together, as those of a session, here and at other gateways', () => {
    const [one, two] = [revocations(), revocations()];
    one.shareBy(hearing(each => two.adopt(each)));
    one.of(ISSUER).endUnnamedSessions('ada', START_S + 5);
    for (const all of [one, two].map(each => each.of(ISSUER))) {
      expect([all.refusal(unnamed(START_S + 5)), all.refusal(unnamed(START_S + 6))]).toEqual([
        'signed_out',
        null,
      ]);
      expect(all.refusal(unnamed(START_S, 'bob'))).toBeNull();
      expect(all.refusal(token(START_S))).toBeNull();
    }
  });

  it('are known to be all there is as long as such a token can live, to all gateways, told once an hour', () => {
    const [one, two, later] = [revocations(), revocations(), revocations()];
    const told: string[] = [];
    one.shareBy(
      hearing(each => {
        told.push(`${each.kind} ${each.whom}`);
        two.adopt(each);
      }),
    );
    const saidBy = (all: Revocations) => all.of(ISSUER).namesNoSessions;
    expect(saidBy(one)).toBe(false);
    for (let i = 0; i < 3; i += 1) one.of(ISSUER).observeSession(unnamed(nowS));
    expect([told, saidBy(one), saidBy(two)]).toEqual([['seen none'], true, true]);
    for (const each of one.running()) later.adopt(each);
    expect(saidBy(later)).toBe(true);
    nowS += 3_600;
    one.of(ISSUER).observeSession(token(nowS));
    expect([saidBy(one), saidBy(two)]).toEqual([false, false]);
    nowS += 2 * DAY_S;
    one.of(ISSUER).observeSession(unnamed(nowS));
    expect([saidBy(one), saidBy(two)]).toEqual([true, true]);
    nowS += 2 * DAY_S;
    expect([saidBy(one), size(one)]).toEqual([false, 0]);
  });

  it('are told in words that older gateways, and strange ones, do not break', () => {
    const all = revocations();
    const seen = { kind: 'seen', issuer: digestOf(ISSUER), forMs: 9, value: START_S } as const;
    for (const whom of ['', '__proto__', 'constructor', 'sid ']) all.adopt({ ...seen, whom });
    expect([all.of(ISSUER).namesNoSessions, size(all)]).toEqual([false, 0]);
  });
});

describe('the version that a caller has passed', () => {
  /** The version that a caller passes now, of whom nothing is revoked. */
  const passed = (all: IssuerRevocations) => {
    const caller = { ...token(START_S + DAY_S, 'bob', 's2'), passedVersion: 0 };
    expect(all.refusalOf(caller)).toBeNull();
    return caller.passedVersion;
  };

  it('changes with everything that refuses more, and never for nothing', () => {
    const all = issuer();
    const changes = [
      () => all.use({ ...RULES, notBeforeS: 1 }),
      () => all.push({ markS: START_S, order: 1 }),
      () => all.revokeSubject('ada', START_S),
      () => all.endSession(sessionDigest('s1')),
    ];
    for (const change of changes) {
      const before = passed(all);
      change();
      expect(passed(all)).not.toBe(before);
    }
    const before = passed(all);
    all.revokeSubject('ada', START_S);
    all.push({ markS: START_S, order: 1 });
    all.observeLife(300);
    expect(passed(all)).toBe(before);
  });

  it('is not looked at again until something was revoked', () => {
    const all = issuer();
    const caller = { ...token(START_S), passedVersion: 0 };
    expect(all.refusalOf(caller)).toBeNull();
    all.revokeSubject('ada', START_S + 1);
    expect(all.refusalOf(caller)).toBe('not_before');
  });

  it('is never that of another issuer', () => {
    const all = revocations();
    expect(passed(all.of('a'))).not.toBe(passed(all.of('b')));
  });
});
