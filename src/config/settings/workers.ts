import { z } from 'zod';
import type { Machine } from '../../core/index.ts';
import { count } from '../values/index.ts';
import { setting } from './setting.ts';

const MAX_WORKERS = 256;

export const workers = setting({
  keys: {
    workers: z
      .union([z.literal('auto'), count(MAX_WORKERS)], {
        error: `expected auto, or a whole number from 1 to ${MAX_WORKERS}`,
      })
      .prefault(1)
      .describe(
        'How many threads serve clients, each on a processor of its own, under the same limits. auto: as many as the processors and the memory that this process may use. Changes take effect after a restart.',
      ),
  },
  compile: ({ workers }, { machine }): { readonly workers: WorkersModel } => ({
    workers: countWorkers(workers, machine),
  }),
  needsRestart: [
    {
      key: 'workers',
      value: ({ workers }) => workers.count,
      written: ({ workers }) => workersInWords(workers),
    },
  ],
});

export interface WorkersModel {
  /** How many workers serve clients. 1: the main thread serves them itself. */
  readonly count: number;
  /** Why `auto` chose this number, such as `processor limit: 1.5`; `null` if the file gives the number. */
  readonly why: string | null;
}

/** Whether the workers should be mentioned: there are several, or `auto` was used. */
export function areWorkersShown({ count, why }: WorkersModel): boolean {
  return count > 1 || why !== null;
}

/** `4`, or `2 (auto, processor limit: 1.5)`. */
export function workersInWords({ count, why }: WorkersModel): string {
  return why === null ? `${count}` : `${count} (auto, ${why})`;
}

/** How many workers a file requests, which may be a variable's text; 1 if that is invalid. */
export function workersWritten(written: unknown, machine: Machine): number {
  const read = workers.keys.workers.safeParse(written === 'auto' ? written : Number(written));
  return read.success ? countWorkers(read.data, machine).count : 1;
}

function countWorkers(workers: number | 'auto', machine: Machine): WorkersModel {
  return workers === 'auto' ? workersOf(machine) : { count: workers, why: null };
}

const MIB = 1024 ** 2;
/** Memory of a gateway without its workers, and of each worker: measured in docs/more-cores.md. */
const BASE_BYTES = 150 * MIB;
const WORKER_BYTES = 60 * MIB;

/** Returns as many workers as the processors and the memory allow, at least one. The smaller number counts. */
function workersOf(machine: Machine): WorkersModel {
  const { processors, sharesPorts, processorLimit, memoryBytes, memoryLimitBytes } = machine;
  const fitting = (bytes: number) => Math.max(1, Math.floor((bytes - BASE_BYTES) / WORKER_BYTES));
  const mib = (bytes: number) => `${Math.floor(bytes / MIB)} MiB`;
  const bounds = [
    { count: sharesPorts ? Infinity : 1, why: 'the operating system spreads no connections' },
    { count: processors, why: `processors: ${processors}` },
    { count: Math.ceil(processorLimit), why: `processor limit: ${Number(processorLimit.toFixed(2))}` },
    { count: fitting(memoryLimitBytes), why: `memory limit: ${mib(memoryLimitBytes)}` },
    { count: fitting(memoryBytes), why: `memory: ${mib(memoryBytes)}` },
    { count: MAX_WORKERS, why: `at most ${MAX_WORKERS}` },
  ];
  return bounds.reduce((least, bound) => (bound.count < least.count ? bound : least));
}
