import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine, type WritableFiles } from '../../../src/core/index.ts';
import { WholeFile } from '../../../src/runtime/whole-file.ts';
import { tempFolder } from '../../support/temp.ts';

/** Notes what is done with files, in its order. */
function noting(steps: string[]): WritableFiles {
  const { files } = thisMachine;
  const note = <Result>(step: string, done: Result): Result => {
    steps.push(step);
    return done;
  };
  return {
    ...files,
    async create(path) {
      const file = await files.create(path);
      return { ...file, sync: () => note('sync the file', file.sync()) };
    },
    rename: (from, to) => note('rename', files.rename(from, to)),
    syncFolder: folder => note('sync the folder', files.syncFolder(folder)),
  };
}

test('a file and its new name are on the disk before it counts as written', async () => {
  const steps: string[] = [];
  const system = { files: noting(steps), clock: thisMachine.clock };
  const file = new WholeFile(join(await tempFolder(), 'file'), 'test', system);
  await file.write({}, ['body']);
  expect(steps).toEqual(['sync the file', 'rename', 'sync the folder']);
  expect((await file.read())?.body.toString()).toBe('body');
});

test('a file system that cannot sync a folder keeps files all the same', async () => {
  const syncFolder = () => Promise.reject(Object.assign(new Error('invalid'), { code: 'EINVAL' }));
  const system = { files: { ...thisMachine.files, syncFolder }, clock: thisMachine.clock };
  const path = join(await tempFolder(), 'file');
  await new WholeFile(path, 'test', system).write({}, ['body']);
  expect(await readFile(path, 'utf8')).toContain('body');
});
