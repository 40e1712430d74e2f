import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { family } from '../measure/processes.ts';
import type { Part } from './part.ts';

/** The kernel hands out a group's time once in each period. */
const PERIOD_US = 20_000;
/** Where control groups of version 1 are, and those of version 2. */
const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';
const IS_V1 = existsSync(`${V1}/cpu.cfs_quota_us`);
const ROOT = IS_V1 ? V1 : V2;

/** Holds servers to a share of one processor by a control group of the kernel (Linux, as root). */
export interface ProcessorShare {
  /** Begins to hold a server. Its threads and further processes are held with it. */
  hold(part: Part): void;
  /** To be called once the servers have ended. */
  end(): void;
}

/** Returns null where groups cannot be made. */
export function processorShare(share: number): ProcessorShare | null {
  const group = `${ROOT}/weir-bench-${process.pid}`;
  try {
    mkdirSync(group);
    limit(group, share);
  } catch {
    return null;
  }
  return {
    hold: ({ pid }) => moveProcesses(pid, group),
    end: () => rmdirSync(group),
  };
}

/**
 * Holds each of these threads of a server to a share of one processor of its own, and its others not at all. Returns what to call once
 * the server has ended; null where groups cannot be made.
 */
export function holdThreads({ pid }: Part, threads: readonly number[], share: number): (() => void) | null {
  const all = `${ROOT}/weir-bench-${process.pid}-threads-of-${pid}`;
  const groups = threads.map((_, index) => `${all}/${index}`);
  try {
    mkdirSync(all);
    // Limits of threads need a threaded group, and those of version 2 a group above that hands the controller on.
    for (const group of groups) {
      mkdirSync(group);
      if (!IS_V1) writeFileSync(`${group}/cgroup.type`, 'threaded');
    }
    if (!IS_V1) writeFileSync(`${all}/cgroup.subtree_control`, '+cpu');
    for (const group of groups) limit(group, share);
    moveProcesses(pid, all);
    for (const [index, group] of groups.entries())
      writeFileSync(`${group}/${IS_V1 ? 'tasks' : 'cgroup.threads'}`, `${threads[index]}`);
  } catch {
    return null;
  }
  return () => {
    for (const group of [...groups, all]) rmdirSync(group);
  };
}

function limit(group: string, share: number): void {
  const quotaUs = Math.round(PERIOD_US * share);
  if (IS_V1) {
    writeFileSync(`${group}/cpu.cfs_period_us`, `${PERIOD_US}`);
    writeFileSync(`${group}/cpu.cfs_quota_us`, `${quotaUs}`);
  } else writeFileSync(`${group}/cpu.max`, `${quotaUs} ${PERIOD_US}`);
}

function moveProcesses(pid: number, group: string): void {
  for (const member of family(pid)) writeFileSync(`${group}/cgroup.procs`, `${member}`);
}
