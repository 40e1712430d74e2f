import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine, type WritableFiles } from '../../../../src/core/index.ts';
import { WholeFile } from '../../../../src/gateway/runtime/whole-file.ts';
import { tempFolder } from '../../../support/temp.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

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

test('a pipe in its place is refused, and not waited for', async () => {
  const path = join(await tempFolder(), 'file');
  execFileSync('mkfifo', [path]);
  await expect(new WholeFile(path, 'test', thisMachine).read()).rejects.toThrow('it is not a file');
});

test.each([
  ['forwards', 60_000, 60_000],
  ['back', -60_000, 0],
])('a clock that was set %s by %i ms makes it %i ms old', async (_, stepMs, agedMs) => {
  const path = join(await tempFolder(), 'file');
  const write = new WholeFile(path, 'test', { ...thisMachine, clock: new FrozenClock(1e12) });
  await write.write({}, ['body']);
  const read = new WholeFile(path, 'test', { ...thisMachine, clock: new FrozenClock(1e12 + stepMs) });
  expect((await read.read())?.agedMs).toBe(agedMs);
});

test('one that cannot be written leaves no part of itself, and the old one as it was', async () => {
  const path = join(await tempFolder(), 'file');
  const file = new WholeFile(path, 'test', thisMachine);
  await file.write({}, ['old']);
  const broken = async function* () {
    yield 'ne';
    throw new Error('the disk is full');
  };
  await expect(file.write({}, broken())).rejects.toThrow('the disk is full');
  expect((await file.read())?.body.toString()).toBe('old');
  expect(await readdir(dirname(path))).toEqual(['file']);
});
