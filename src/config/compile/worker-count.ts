import type { Machine } from '../../core/index.ts';
import type { WorkersModel } from '../model/index.ts';
import { type GatewayConfig, MAX_WORKERS } from '../schema/index.ts';

const MIB = 1024 ** 2;
/** Memory of a gateway without its workers, and of each worker: measured in docs/more-cores.md. */
const BASE_BYTES = 150 * MIB;
const WORKER_BYTES = 60 * MIB;

/** Returns the number of workers. With `auto`, it depends on the machine. */
export function countWorkers(workers: GatewayConfig['workers'], machine: Machine): WorkersModel {
  return workers === 'auto' ? workersOf(machine) : { count: workers, why: null };
}

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
