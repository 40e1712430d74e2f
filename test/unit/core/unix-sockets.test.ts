import { once } from 'node:events';
import { rename, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listenAtSocket, resetSocket, socketPath } from '../../../src/core/index.ts';
import { atEnd } from '../../support/lifetime.ts';
import { tempFolder } from '../../support/temp.ts';

const server = () => {
  const made = createServer(socket => void socket.on('error', () => {}));
  atEnd(() => void made.close());
  return made;
};
const place = async () => join(await tempFolder(), 'a.sock');

describe('a Unix socket that is listened at', () => {
  it('has mode 0660, whatever the umask, which stays', async () => {
    const path = await place();
    const before = process.umask(0);
    try {
      await listenAtSocket(server(), path, 511);
      expect((await stat(path)).mode & 0o777).toBe(0o660);
      expect(process.umask()).toBe(0);
    } finally {
      process.umask(before);
    }
  });

  it('replaces one that nobody listens at any more', async () => {
    const path = await place();
    // A process that was killed leaves its socket behind, as does one that is renamed before its server closes.
    const dead = createServer();
    await listenAtSocket(dead, `${path}.old`, 1);
    await rename(`${path}.old`, path);
    dead.close();
    await once(dead, 'close');
    expect((await stat(path)).isSocket()).toBe(true);
    await listenAtSocket(server(), path, 511);
    const socket = connect({ path });
    await once(socket, 'connect');
    socket.destroy();
  });

  it('is not taken from a process that listens', async () => {
    const path = await place();
    await listenAtSocket(server(), path, 511);
    await expect(listenAtSocket(server(), path, 511)).rejects.toMatchObject({
      ...{ code: 'EADDRINUSE', syscall: 'listen', address: path },
    });
    expect((await stat(path)).isSocket()).toBe(true);
  });

  it('replaces neither a file nor what a link leads to', async () => {
    const path = await place();
    await writeFile(path, 'precious');
    await expect(listenAtSocket(server(), path, 511)).rejects.toMatchObject({ code: 'ENOTSOCK' });
    await symlink(path, `${path}.link`);
    await expect(listenAtSocket(server(), `${path}.link`, 511)).rejects.toMatchObject({ code: 'ENOTSOCK' });
    expect((await stat(path)).size).toBe(8);
  });

  it('rejects with the error of the system where the folder is missing', async () => {
    const path = join(await tempFolder(), 'none', 'a.sock');
    await expect(listenAtSocket(server(), path, 511)).rejects.toMatchObject({ syscall: 'listen' });
  });

  it('is reset like others', async () => {
    const path = await place();
    const accepted = server();
    await listenAtSocket(accepted, path, 511);
    const socket = connect({ path });
    const [[other]] = (await Promise.all([once(accepted, 'connection'), once(socket, 'connect')])) as [
      [Socket],
      unknown,
    ];
    socket.resume();
    resetSocket(other);
    await once(socket, 'close');
    expect(other.destroyed).toBe(true);
  });
});

it('a host that is a Unix socket is told by its scheme', () => {
  expect(socketPath('unix:/run/app.sock')).toBe('/run/app.sock');
  expect(socketPath('unix')).toBeNull();
  expect(socketPath('::1')).toBeNull();
});
