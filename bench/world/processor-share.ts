import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { family } from '../measure/processes.ts';
import type { Part } from './part.ts';

/** The kernel hands out a group's time once in each period. */
const PERIOD_US = 20_000;
/** Where control groups of version 1 and of version 2 are. */
const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';

/** Holds servers to a share of one processor by a control group of the kernel (Linux, as root). */
export interface ProcessorShare {
  /** Begins to hold a server. Its threads and further processes are held with it. */
  hold(part: Part): void;
  /** To be called once the servers have ended. */
  end(): void;
}

/** Returns null where groups cannot be made. */
export function processorShare(share: number): ProcessorShare | null {
  const isV1 = existsSync(join(V1, 'cpu.cfs_quota_us'));
  const group = join(isV1 ? V1 : V2, `weir-bench-${process.pid}`);
  const quotaUs = Math.round(PERIOD_US * share);
  try {
    mkdirSync(group);
    if (isV1) {
      writeFileSync(join(group, 'cpu.cfs_period_us'), `${PERIOD_US}`);
      writeFileSync(join(group, 'cpu.cfs_quota_us'), `${quotaUs}`);
    } else writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${PERIOD_US}`);
  } catch {
    return null;
  }
  return {
    hold: ({ pid }) => {
      for (const member of family(pid)) writeFileSync(join(group, 'cgroup.procs'), `${member}`);
    },
    end: () => rmdirSync(group),
  };
}
