import { loadConfig, type Snapshot } from '../../../../src/config/index.ts';
import {
  MainPart,
  ownMemory,
  ownPermits,
  ownRates,
  type PartOptions,
  type TimerClock,
  thisMachine,
} from '../../../../src/core/index.ts';
import type { Link } from '../../../../src/process/workers/link.ts';
import { WorkerPart } from '../../../../src/process/workers/worker-part.ts';
import { writeGatewayConfig } from '../../../support/gateway.ts';
import { tempText } from '../../../support/temp.ts';

const quiet = () => {};

/** Hear nothing of what a thread decides and of its Redis. */
export const quietListener = {
  ...{
    decided: quiet,
    warned: quiet,
    held: quiet,
    shadowRefused: quiet,
    priced: quiet,
    invalid: quiet,
    refusedByRestriction: quiet,
  },
  ...{ restricted: quiet, prolonged: quiet, released: quiet, evicted: quiet },
};
export const quietStoreListener = {
  ...{ decidedBy: quiet, failed: quiet, lost: quiet, found: quiet, behind: quiet, caughtUp: quiet },
  ...{ shareFailed: quiet, subscribed: quiet, rightsMissing: quiet, taskFailed: quiet, beat: quiet },
};

/** How a thread counts on its own, although others tell it what they know. */
const own = (clock: TimerClock): PartOptions => ({
  ...{ id: 'process', memory: ownMemory(thisMachine.randomBytes), permits: ownPermits, rates: ownRates },
  ...{ clock, late: quiet },
});

export function mainPartOf(clock: TimerClock, more: Partial<PartOptions> = {}): MainPart {
  return new MainPart({ ...own(clock), ...more });
}

export function workerPartOf(link: Link, clock: TimerClock, more: Partial<PartOptions> = {}): WorkerPart {
  return new WorkerPart(link, { ...own(clock), ...more });
}

/** Loads a configuration with this limits.yaml. */
export async function snapshotOf(limitsText: string): Promise<Snapshot> {
  const limits = await tempText('limits.yaml', limitsText);
  const path = await writeGatewayConfig({ upstreamPort: 1, config: { limits } });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error('the configuration is wrong');
  return loaded.snapshot;
}
