import { loadConfig, type Snapshot } from '../../../../src/config/index.ts';
import type { TimerClock } from '../../../../src/core/index.ts';
import { writeGatewayConfig } from '../../../support/gateway.ts';
import { tempText } from '../../../support/temp.ts';

const quiet = () => {};

/** Hear nothing of what a thread decides and of its Redis. */
export const quietListener = {
  ...{ decided: quiet, held: quiet, shadowRefused: quiet, invalid: quiet, refusedByRestriction: quiet },
  ...{ restricted: quiet, prolonged: quiet, released: quiet, evicted: quiet },
};
export const quietStoreListener = {
  ...{ decidedBy: quiet, failed: quiet, lost: quiet, found: quiet, behind: quiet, caughtUp: quiet },
  ...{ shareFailed: quiet, subscribed: quiet, rightsMissing: quiet, taskFailed: quiet, beat: quiet },
};

/** How threads wait that answer each other at once. */
export const patience = (clock: TimerClock) => ({ clock, late: quiet });

/** Loads a configuration with this limits.yaml. */
export async function snapshotOf(limitsText: string): Promise<Snapshot> {
  const limits = await tempText('limits.yaml', limitsText);
  const path = await writeGatewayConfig({ upstreamPort: 1, config: { limits } });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error('the configuration is wrong');
  return loaded.snapshot;
}
