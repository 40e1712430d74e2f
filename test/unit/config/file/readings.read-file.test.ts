import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfigFile } from '../../../../src/config/file/readings.ts';
import { thisMachine } from '../../../../src/core/index.ts';
import { tempFolder } from '../../../support/temp.ts';

const MIB = 1024 * 1024;

async function readBytes(bytes: Buffer | string) {
  const file = join(await tempFolder(), 'gateway.yaml');
  await writeFile(file, bytes);
  return readConfigFile(file, thisMachine.files);
}

describe('readConfigFile', () => {
  it('reads UTF-8', async () => {
    expect(await readBytes('über: ä\n')).toMatchObject({ ok: true, text: 'über: ä\n' });
  });

  it('reads a file of one mebibyte', async () => {
    expect(await readBytes('#'.repeat(MIB))).toMatchObject({ ok: true });
  });

  it('refuses a larger one', async () => {
    expect(await readBytes('#'.repeat(MIB + 1))).toMatchObject({
      diagnostic: { message: 'the file is larger than 1 MiB: is this the right file?', line: null },
    });
  });

  it('says where it looked for a file that does not exist', async () => {
    const file = join(await tempFolder(), 'gateway.yaml');
    expect(await readConfigFile(file, thisMachine.files)).toEqual({
      ok: false,
      diagnostic: { file, line: null, column: null, message: `no such file (${file})`, severity: 'error' },
      reason: 'no such file',
    });
  });

  it('takes a path through a file for one that does not exist', async () => {
    const file = join(await tempFolder(), 'file');
    await writeFile(file, '');
    expect(await readConfigFile(join(file, 'x'), thisMachine.files)).toMatchObject({
      diagnostic: { message: expect.stringMatching(/^no such file/) },
    });
  });

  it('says that a directory is a directory', async () => {
    const folder = await tempFolder();
    expect(await readConfigFile(folder, thisMachine.files)).toMatchObject({
      diagnostic: { message: 'this is a directory, expected a file' },
    });
  });

  it('says when it may not read the file', async () => {
    const file = join(await tempFolder(), 'gateway.yaml');
    await writeFile(file, '');
    await chmod(file, 0);
    // Root may read every file, so another user has to try.
    const asNobody = process.getuid?.() === 0;
    if (asNobody) process.seteuid?.(65_534);
    const read = await readConfigFile(file, thisMachine.files);
    if (asNobody) process.seteuid?.(0);
    expect(read).toMatchObject({ diagnostic: { message: expect.stringMatching(/permission denied$/) } });
  });

  it('says what else the system has to say', async () => {
    const name = 'x'.repeat(300);
    const folder = join(await tempFolder(), 'folder');
    await mkdir(folder);
    expect(await readConfigFile(join(folder, name), thisMachine.files)).toMatchObject({
      diagnostic: { message: expect.stringMatching(/^the file cannot be read: ENAMETOOLONG/) },
      reason: 'the file cannot be read (ENAMETOOLONG)',
    });
  });

  it.each([
    ['a Latin-1 letter', Buffer.from('a: 1\nb: \xfc\n', 'latin1'), 2],
    ['a letter that is cut off', Buffer.concat([Buffer.from('a: 1\n\nb: '), Buffer.from([0xc3])]), 3],
  ])('names the line with %s', async (_, bytes, line) => {
    expect(await readBytes(bytes)).toMatchObject({
      diagnostic: { line, column: 1, message: 'this line is not valid UTF-8: save the file as UTF-8' },
    });
  });

  it.each([
    ['UTF-16', Buffer.from('\ufeffa: 1\n', 'utf16le'), 'the file is UTF-16: save it as UTF-8'],
    [
      'UTF-16 of the other order',
      Buffer.from('\ufeffa: 1\n', 'utf16le').swap16(),
      'the file is UTF-16: save it as UTF-8',
    ],
    [
      'a compressed file',
      Buffer.from([0x1f, 0x8b, 8, 0, 0]),
      'this is a binary file, expected text: is this the right file?',
    ],
  ])('tells %s from text', async (_, bytes, message) => {
    expect(await readBytes(bytes)).toMatchObject({ diagnostic: { line: 1, column: 1, message } });
  });
});
