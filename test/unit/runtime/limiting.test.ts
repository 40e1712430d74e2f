import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/index.ts';
import { Limiting } from '../../../src/runtime/index.ts';
import { writeGatewayConfig } from '../../support/gateway.ts';
import { tempText } from '../../support/temp.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

const quiet = () => {};
const listener = {
  ...{ decided: quiet, held: quiet, shadowRefused: quiet },
  ...{ shadowRestricted: quiet, invalid: quiet },
  ...{ restricted: quiet, released: quiet, noRoom: quiet },
};
const storeListener = { decidedBy: quiet, failed: quiet, lost: quiet, found: quiet, beat: quiet };
const OFFENDER = '192.0.2.1';

/** Whether the third invalid request restricts its address although another address came after its first. */
async function remembersThrough(limitKeys: number): Promise<boolean> {
  const limits = await tempText(
    'limits.yaml',
    'global: off\ninvalid_requests: { limit: 2/10m, restrict_for: 10m }\n',
  );
  const path = await writeGatewayConfig({ upstreamPort: 1, config: { limits } });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error('the configuration is wrong');
  const { snapshot } = loaded;
  const dependencies = { clock: new FrozenClock(), listener, storeListener, limitKeys };
  const limiting = new Limiting(snapshot.limits, snapshot.store, dependencies);
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
