import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { alone, thisMachine } from '../../../../src/core/index.ts';
import { Limiting } from '../../../../src/gateway/runtime/index.ts';
import { NONE_ELSEWHERE } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { quietListener, quietStoreListener, snapshotOf } from '../../process/workers/thread-parts.ts';

const quiet = { listener: quietListener, storeListener: quietStoreListener };
const OFFENDER = '192.0.2.1';

/** Whether the third invalid request restricts its address although another address came after its first. */
async function remembersThrough(limitKeys: number): Promise<boolean> {
  const snapshot = await snapshotOf('global: off\ninvalid_requests: { limit: 2/10m, restrict_for: 10m }\n');
  const clock = new FrozenClock();
  const part = alone({ ...thisMachine, clock });
  const dependencies = { clock, randomBytes, part, ...quiet, limitKeys, inFlightElsewhere: NONE_ELSEWHERE };
  const limiting = new Limiting(snapshot.limits, dependencies);
  const note = (...addresses: string[]) => {
    for (const address of addresses) limiting.offences.invalidRequests.note(address);
  };
  note(OFFENDER, '198.51.100.1', OFFENDER, OFFENDER);
  const offence = { kind: 'address', key: OFFENDER, webhook: '', reason: 'invalid_requests' } as const;
  return limiting.restrictions.isRestricted(offence);
}

test('`caps.limit_keys` bounds the tables of offences, too', async () => {
  expect(await remembersThrough(100)).toBe(true);
  expect(await remembersThrough(1)).toBe(false);
});
