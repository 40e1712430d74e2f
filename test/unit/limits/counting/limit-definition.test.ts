import { describe, expect, test } from 'vitest';
import { ByClass, isSharedRole, LIMIT_ROLES, type LimitOptions } from '../../../../src/limits/index.ts';
import { limit } from '../stores.ts';

const QUOTA = '5/10s';
const identityOf = (options: Partial<LimitOptions>, quota = QUOTA) => limit(quota, options).identity;

describe('a limit', () => {
  test('keeps its counters with another number, slack or cost, and where a token may say the number', () => {
    const claimed = { units: 5, periodMs: 10_000, claim: 'rate', maxUnits: 20 };
    const same = [
      ...[identityOf({}, '9/10s'), identityOf({ windowSlackMs: 0 }), identityOf({ largestCost: 3 })],
      ...[identityOf({ quota: claimed }), identityOf({ isTrial: false })],
    ];
    expect(new Set(same)).toEqual(new Set([identityOf({})]));
  });

  test('shares them with none of another role, bucket, algorithm, period, parameter or claim, nor one on trial with one in force', () => {
    const others: Partial<LimitOptions>[] = [
      ...([{}, { role: 'resource' }, { bucket: 'other' }, { algorithm: 'smooth' }, { main: 'id' }] as const),
      ...([{ role: 'group' }, { role: 'group', claim: 'org' }, { role: 'group', claim: 'team' }] as const),
    ];
    const all = others.flatMap(options => [identityOf(options), identityOf({ ...options, isTrial: true })]);
    all.push(identityOf({}, '5/11s'), identityOf({ main: 'trial' }));
    expect(new Set(all).size).toBe(all.length);
  });

  test('has a name that later versions keep, since files and replicas have its counters under it', () => {
    expect(identityOf({ main: 'id' })).toBe('["caller","b","window",10000,"id"]');
    const group = { role: 'group', claim: 'org', isTrial: true } as const;
    expect(identityOf(group)).toBe('["group","b","window",10000,null,"org","trial"]');
  });

  test.each<[string, string, Partial<LimitOptions>, number]>([
    ['20 ms', '5/10s', {}, 20],
    ['2% of a short period', '5/1s', { windowSlackMs: 50 }, 20],
    ['as the configuration says', '5/10s', { windowSlackMs: 150 }, 150],
    ['none', '5/10s', { windowSlackMs: 0 }, 0],
    ['half a step of a smooth one', '500/1s', { algorithm: 'smooth' }, 1],
    ['20 ms of a smooth one whose steps are long', '5/10s', { algorithm: 'smooth' }, 20],
    ['20 ms of a window with many units', '500/1s', {}, 20],
  ])('has a slack of %s', (_name, quota, options, slackMs) => {
    expect(limit(quota, options).slackMs).toBe(slackMs);
  });

  test('knows the claim of its group, or that of its number, and the most that a token may say', () => {
    const quota = { units: 5, periodMs: 10_000, claim: 'rate', maxUnits: 20 };
    const all = [limit(QUOTA), limit(QUOTA, { role: 'group', claim: 'org' }), limit(QUOTA, { quota })];
    expect(all.map(({ claim, units, maxUnits }) => [claim, units, maxUnits])).toEqual([
      [null, 5, 5],
      ['org', 5, 5],
      ['rate', 5, 20],
    ]);
  });
});

test('several callers share the counters of groups and resources alone', () => {
  expect(LIMIT_ROLES.filter(isSharedRole)).toEqual(['group', 'resource']);
});

test('each class of callers has its own value, and one without has that of users', () => {
  const made: string[] = [];
  const byClass = new ByClass(['partner', 'partner', 'trial'], name => {
    made.push(name);
    return `of ${name}`;
  });
  const names = ['bot', 'user', 'address', 'partner', 'trial'];
  expect(names.map(name => byClass.of(name))).toEqual(names.map(name => `of ${name}`));
  expect(byClass.of('unknown')).toBe('of user');
  expect([made, byClass.names, byClass.all]).toEqual([
    ...[names, ['partner', 'trial'], names.map(name => `of ${name}`)],
  ]);
});
