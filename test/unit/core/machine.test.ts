import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { type Files, readMachine, thisMachine } from '../../../src/core/index.ts';
import { tempFolder } from '../../support/temp.ts';

/** A machine whose `/proc` and `/sys` hold these files and no others. */
async function machineWith(texts: Readonly<Record<string, string>>): Promise<Files> {
  const root = await tempFolder();
  for (const [path, text] of Object.entries(texts)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `${text}\n`);
  }
  return { ...thisMachine.files, open: path => thisMachine.files.open(join(root, path)) };
}

const NO_LIMITS = { processorLimit: Infinity, memoryLimitBytes: Infinity };
const V2 = '/sys/fs/cgroup';

describe('what this process may use', () => {
  it('is the whole machine where nothing says otherwise', async () => {
    expect(await readMachine(await machineWith({}))).toEqual({
      ...NO_LIMITS,
      processors: availableParallelism(),
      sharesPorts: process.platform === 'linux',
      memoryBytes: totalmem(),
      heapLimitBytes: getHeapStatistics().heap_size_limit,
      descriptorLimit: Infinity,
    });
  });

  it.each([
    ['3', 1],
    ['0-3,8', 5],
    ['0-1,4-5,63', 5],
  ])('is the processors that it may run on: %s', async (list, processors) => {
    const status = `Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${list}\nMems_allowed:\t1`;
    expect(await readMachine(await machineWith({ '/proc/self/status': status }))).toMatchObject({
      processors,
    });
  });

  it.each([
    ['Max open files            220                  4096                 files     ', 220],
    ['Max open files            unlimited            unlimited            files     ', Infinity],
  ])('is the file descriptors that the system allows: %s', async (line, descriptorLimit) => {
    const limits = `Limit                     Soft Limit           Hard Limit           Units     \n${line}`;
    expect(await readMachine(await machineWith({ '/proc/self/limits': limits }))).toMatchObject({
      descriptorLimit,
    });
  });

  it('is what its control group allows', async () => {
    const files = await machineWith({
      '/proc/self/cgroup': '0::/',
      [`${V2}/cpu.max`]: '150000 100000',
      [`${V2}/memory.max`]: '536870912',
    });
    expect(await readMachine(files)).toMatchObject({ processorLimit: 1.5, memoryLimitBytes: 536_870_912 });
  });

  it('is what the strictest of the groups above it allows', async () => {
    const unit = `${V2}/system.slice/weir.service`;
    const files = await machineWith({
      '/proc/self/cgroup': '0::/system.slice/weir.service',
      [`${unit}/cpu.max`]: '400000 100000',
      [`${unit}/memory.max`]: '1073741824',
      [`${V2}/system.slice/cpu.max`]: '25000 10000',
      [`${V2}/system.slice/memory.max`]: 'max',
    });
    expect(await readMachine(files)).toMatchObject({ processorLimit: 2.5, memoryLimitBytes: 1_073_741_824 });
  });

  it('is not limited by a group that says max', async () => {
    const files = await machineWith({
      '/proc/self/cgroup': '0::/',
      [`${V2}/cpu.max`]: 'max 100000',
      [`${V2}/memory.max`]: 'max',
    });
    expect(await readMachine(files)).toMatchObject(NO_LIMITS);
  });

  it('is what groups of the first version allow, each resource in a tree of its own', async () => {
    const files = await machineWith({
      '/proc/self/cgroup': '9:name=systemd:/\n4:memory:/docker/7\n2:cpu,cpuacct:/docker/7\n0::/',
      '/sys/fs/cgroup/cpu/docker/7/cpu.cfs_quota_us': '300000',
      '/sys/fs/cgroup/cpu/docker/7/cpu.cfs_period_us': '100000',
      '/sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes': '268435456',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712',
    });
    expect(await readMachine(files)).toMatchObject({ processorLimit: 3, memoryLimitBytes: 268_435_456 });
  });

  it('is what the topmost group says in a container that does not see the path of its own', async () => {
    const files = await machineWith({
      '/proc/self/cgroup': '4:memory:/docker/7\n2:cpuacct,cpu:/docker/7',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    });
    expect(await readMachine(files)).toMatchObject({ processorLimit: 0.5, memoryLimitBytes: Infinity });
  });

  it('is not limited by a quota of -1', async () => {
    const files = await machineWith({
      '/proc/self/cgroup': '1:cpu:/',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    });
    expect(await readMachine(files)).toMatchObject(NO_LIMITS);
  });
});
