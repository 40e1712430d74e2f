import { availableParallelism, totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Files } from './system.ts';

/** The resources that the machine, its container or its unit allow this process. */
export interface Machine {
  readonly processors: number;
  /** Whether several threads can listen at one address. */
  readonly sharesPorts: boolean;
  /** The processor time that its control groups allow, in processors; infinite without a limit. */
  readonly processorLimit: number;
  readonly memoryBytes: number;
  /** The memory that its control groups allow, in bytes; infinite without a limit. */
  readonly memoryLimitBytes: number;
  /** The maximum that V8 allows for the objects of this thread, in bytes. */
  readonly heapLimitBytes: number;
  /** The file descriptors that the process may have, which Node.js raises to the hard limit; infinite where unknown. */
  readonly descriptorLimit: number;
}

/** Returns the memory that a process may use, in bytes: that of its machine and its control groups, and no more than twice its heap. */
export function usableMemory({ memoryBytes, memoryLimitBytes, heapLimitBytes }: Machine): number {
  return Math.min(memoryBytes, memoryLimitBytes, 2 * heapLimitBytes);
}

/** Systems where Node's `reusePort` distributes connections. */
const SHARING_PORTS: ReadonlySet<string> = new Set(['linux', 'freebsd', 'sunos', 'aix']);

/**
 * Reads the resources of this process. Node's own count is used only without `/proc`: it scales the processors by the weight of
 * the control group, which is not a limit.
 */
export async function readMachine(files: Files): Promise<Machine> {
  const read = (path: string) => readText(path, files);
  const groups = await read('/proc/self/cgroup');
  const least = async (resource: Resource, limitOf: (place: Place, read: Read) => Promise<number>) =>
    Math.min(...(await Promise.all(placesOf(resource, groups).map(place => limitOf(place, read)))));
  return {
    processors: processorsIn(await read('/proc/self/status')) ?? availableParallelism(),
    sharesPorts: SHARING_PORTS.has(process.platform),
    processorLimit: await least('cpu', processorLimit),
    memoryBytes: totalmem(),
    memoryLimitBytes: await least('memory', memoryLimit),
    heapLimitBytes: getHeapStatistics().heap_size_limit,
    descriptorLimit: limitIn(/^Max open files\s+(\d+)/m.exec(await read('/proc/self/limits'))?.[1] ?? ''),
  };
}

type Resource = 'cpu' | 'memory';
type Read = (path: string) => Promise<string>;

/** A control group that may limit a resource. */
interface Place {
  readonly version: 'v1' | 'v2';
  readonly folder: string;
}

/**
 * Returns the control groups of `/proc/self/cgroup` and those above them, whose limits apply as well. A container may see its own
 * group as the topmost one, with a path that does not exist there: such a group counts as having no limits.
 */
function placesOf(resource: Resource, groups: string): Place[] {
  return [...groups.matchAll(/^\d+:([^:]*):(.*)$/gm)].flatMap(([, controllers = '', path = '']): Place[] => {
    const version = controllers === '' ? 'v2' : 'v1';
    if (version === 'v1' && !controllers.split(',').includes(resource)) return [];
    const root = version === 'v2' ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${resource}`;
    const steps = path.split('/').filter(step => step !== '');
    return [0, ...steps.map((_, index) => index + 1)].map(count => ({
      version,
      folder: [root, ...steps.slice(0, count)].join('/'),
    }));
  });
}

async function processorLimit({ version, folder }: Place, read: Read): Promise<number> {
  const [quota = '', period = ''] =
    version === 'v2'
      ? (await read(`${folder}/cpu.max`)).split(' ')
      : await Promise.all(['quota', 'period'].map(name => read(`${folder}/cpu.cfs_${name}_us`)));
  return limitIn(quota) / (Number.parseInt(period, 10) || 1);
}

async function memoryLimit({ version, folder }: Place, read: Read): Promise<number> {
  return limitIn(await read(`${folder}/${version === 'v2' ? 'memory.max' : 'memory.limit_in_bytes'}`));
}

/** Reads a number above 0; anything else, such as `max` or -1, means no limit. */
function limitIn(text: string): number {
  const value = Number.parseInt(text, 10);
  return value > 0 ? value : Infinity;
}

/** Counts the processors of `Cpus_allowed_list: 0-3,8`. */
function processorsIn(status: string): number | undefined {
  const list = /^Cpus_allowed_list:\s*([\d,-]+)$/m.exec(status)?.[1];
  return list?.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}

const MAX_BYTES = 64 * 1024;

/** The beginning of a small file; empty if it cannot be read. */
async function readText(path: string, files: Files): Promise<string> {
  const file = await files.open(path).catch(() => null);
  if (file === null) return '';
  try {
    const bytes = Buffer.alloc(MAX_BYTES);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, null);
    return bytes.toString('latin1', 0, bytesRead);
  } catch {
    return '';
  } finally {
    await file.close();
  }
}
