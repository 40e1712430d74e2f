import { expect, test } from 'vitest';
import { thisMachine } from '../../../src/core/index.ts';
import { lockFolder } from '../../../src/runtime/folder-lock.ts';
import { tempFolder } from '../../support/temp.ts';

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
