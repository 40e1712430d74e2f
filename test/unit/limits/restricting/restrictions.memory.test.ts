import { expect, test } from 'vitest';
import { digestOfWhom, NO_OTHERS, Restrictions } from '../../../../src/limits/index.ts';
import { usedBytes } from '../../../support/memory.ts';
import { anAddress } from '../../../support/restricted-clients.ts';
import { FrozenClock } from '../frozen-clock.ts';

const quiet = () => {};
const listener = { restricted: quiet, prolonged: quiet, released: quiet, evicted: quiet };

test('restrictions and lifts that are over leave nothing of their clients, webhooks and networks in memory', () => {
  const clock = new FrozenClock();
  const restrictions = new Restrictions({
    clock,
    listener,
    others: NO_OTHERS,
    networkOf: address => `network of ${address}`,
  });
  restrictions.neverRestrict(key => key.startsWith('spared'));
  const before = usedBytes();
  for (let n = 0; n < 10_000; n++) {
    const [key, webhook, reason] = [`client${n}`, 'abc', 'webhook_not_found'] as const;
    restrictions.restrict({ kind: 'webhook', key, webhook, reason }, 50);
    const spared = { kind: 'address', key: `spared${n}`, webhook: '' } as const;
    const told = { reason, forMs: 50, lifts: 0, sinceEpochMs: null, network: '', owner: '' };
    restrictions.gossip.adopt({ ...told, kind: 'address', digest: digestOfWhom(spared) });
    restrictions.waitMs(anAddress(spared.key));
    restrictions.gossip.adoptLift({ digest: `lift of ${n}`, count: 1, forMs: 50 });
    clock.advance(10);
    restrictions.sweep();
  }
  expect(usedBytes() - before).toBeLessThan(700_000);
  expect(restrictions.size).toBeLessThan(10);
});
