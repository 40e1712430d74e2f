import { expect, test } from 'vitest';
import type { Restriction } from '../../../../src/limits/restricting/restriction.ts';
import { RestrictionTable } from '../../../../src/limits/restricting/restriction-table.ts';

function entry(n: number, owner: string): Restriction {
  return {
    ...{
      kind: 'address',
      digest: `digest${n}`,
      key: `192.0.2.${n}`,
      webhook: '',
      reason: 'invalid_requests',
    },
    ...{
      lifts: 0,
      sinceEpochMs: 0,
      untilEpochMs: 1_000,
      untilMs: 1_000,
      slackMs: 0,
      network: '',
      owner,
      place: 0,
    },
  };
}

test('restrictions without an owner are not listed, which would make each deletion walk through all of them', () => {
  const table = new RestrictionTable(9);
  for (const n of [1, 2]) table.set(entry(n, ''));
  table.set(entry(3, 'owner'));
  expect([table.ofOwner(''), table.ofOwner('owner').length]).toEqual([[], 1]);
  for (const each of [...table.all()]) table.delete(each);
  expect([table.size, table.ofOwner('owner')]).toEqual([0, []]);
});
