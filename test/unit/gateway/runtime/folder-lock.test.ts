import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine } from '../../../../src/core/index.ts';
import { lockFolder } from '../../../../src/gateway/runtime/folder-lock.ts';
import { tempFolder } from '../../../support/temp.ts';
import { inTime } from '../../../support/test-clock.ts';
import { waitFor } from '../../../support/wait.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const machineAt = (clock: FrozenClock) => ({ ...thisMachine, clock });

test('of gateways that take a folder at the same moment, one gets it, and another once that has ended', async () => {
  const folder = await tempFolder();
  const clocks = [0, 1, 2].map(() => new FrozenClock());
  let refused = 0;
  const taken = clocks.map(async clock => {
    const lock = await lockFolder(folder, machineAt(clock));
    if (lock === null) refused++;
    return lock;
  });
  // Each has taken the folder, or has found that another one did, before any looks whether it still has it.
  await waitFor('all have come', () => refused + clocks.filter(({ isWaiting }) => isWaiting).length === 3);
  for (const clock of clocks) clock.advance(100);
  const locks = await Promise.all(taken);
  const [lock, ...others] = locks.filter(each => each !== null);
  expect(others).toEqual([]);
  const clock = new FrozenClock();
  expect(await lockFolder(folder, machineAt(clock))).toBeNull();
  await lock?.release();
  const next = await inTime(clock, lockFolder(folder, machineAt(clock)));
  expect(next).not.toBeNull();
  await next?.release();
});

test('a lock that cannot be taken leaves no socket behind', async () => {
  const folder = await tempFolder();
  await mkdir(join(folder, 'weir.lock'));
  const open: boolean[] = [];
  const network = {
    ...thisMachine.network,
    createServer(...args: Parameters<typeof thisMachine.network.createServer>) {
      const server = thisMachine.network.createServer(...args);
      server.once('close', () => open.pop());
      open.push(true);
      return server;
    },
  };
  await expect(lockFolder(folder, { ...thisMachine, network })).rejects.toThrow('EISDIR');
  await expect.poll(() => open).toEqual([]);
  expect(await readdir(folder)).toEqual(['weir.lock']);
});

test('a folder whose path is too long for a socket is refused in words', async () => {
  const folder = join(await tempFolder(), 'x'.repeat(100));
  await mkdir(folder);
  await expect(lockFolder(folder, thisMachine)).rejects.toThrow(
    'its path is too long for the socket that locks it',
  );
});
