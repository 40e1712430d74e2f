import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Limiting } from '../../../../src/process/runtime/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { quietListener, quietStoreListener, snapshotOf } from '../workers/thread-parts.ts';

const quiet = { listener: quietListener, storeListener: quietStoreListener };
const OFFENDER = '192.0.2.1';

/** Whether the third invalid request restricts its address although another address came after its first. */
async function remembersThrough(limitKeys: number): Promise<boolean> {
  const snapshot = await snapshotOf('global: off\ninvalid_requests: { limit: 2/10m, restrict_for: 10m }\n');
  const dependencies = { clock: new FrozenClock(), randomBytes, ...quiet, limitKeys };
  const limiting = new Limiting(snapshot.limits, dependencies);
  const note = (...addresses: string[]) => {
    for (const address of addresses) limiting.invalidRequests.note(address);
  };
  note(OFFENDER, '198.51.100.1', OFFENDER, OFFENDER);
  const offence = { kind: 'address', key: OFFENDER, webhook: '', reason: 'invalid_requests' } as const;
  return limiting.restrictions.isRestricted(offence);
}

test('`caps.limit_keys` bounds the tables of offences, too', async () => {
  expect(await remembersThrough(100)).toBe(true);
  expect(await remembersThrough(1)).toBe(false);
});

test('a reload that never restricts a client any more ends what rules in shadow hold against it', async () => {
  const rule = 'invalid_requests: { limit: 1/10m, restrict_for: 10m, shadow: true }\n';
  const [before, after] = [
    await snapshotOf(rule),
    await snapshotOf(`${rule}never_restrict: [192.0.2.0/24]\n`),
  ];
  const dependencies = { clock: new FrozenClock(), randomBytes, ...quiet, limitKeys: 100 };
  const limiting = new Limiting(before.limits, dependencies);
  for (const address of [OFFENDER, OFFENDER, '198.51.100.1', '198.51.100.1'])
    limiting.invalidRequests.note(address);
  limiting.use(after.limits);
  expect(limiting.shadowRestrictions.list(9).map(({ key }) => key)).toEqual(['198.51.100.1']);
});
