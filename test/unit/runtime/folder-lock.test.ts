import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine } from '../../../src/core/index.ts';
import { lockFolder } from '../../../src/runtime/folder-lock.ts';
import { realTime } from '../../support/real-time.ts';
import { tempFolder } from '../../support/temp.ts';

realTime('processes take the folder by turns');

test('of gateways that take a folder at the same moment, one gets it, and another once that has ended', async () => {
  const folder = await tempFolder();
  const locks = await Promise.all([0, 1, 2].map(() => lockFolder(folder, thisMachine)));
  const [lock, ...others] = locks.filter(each => each !== null);
  expect(others).toEqual([]);
  expect(await lockFolder(folder, thisMachine)).toBeNull();
  await lock?.release();
  const next = await lockFolder(folder, thisMachine);
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
