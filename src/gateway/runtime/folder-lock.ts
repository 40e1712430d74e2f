import { once } from 'node:events';
import { join } from 'node:path';
import { reachesProcess, type System } from '../../core/index.ts';

const LOCK_NAME = 'weir.lock';

/** How long after taking the lock it is certain that no other gateway took it at the same time. */
const RACE_MS = 100;

/** The longest path of a socket, in bytes: on Linux; other systems allow slightly less. */
const LONGEST_PATH = 107;

/**
 * Locks a folder for this gateway; `null` if a running gateway on this machine has it. The lock is a socket in the folder: it
 * disappears with its process, however that ended, and is visible from other containers as well. Two machines that share a folder
 * do not see each other. Throws the system's error, such as EACCES.
 */
export async function lockFolder(
  folder: string,
  { network, files, clock, randomBytes }: Pick<System, 'network' | 'files' | 'clock' | 'randomBytes'>,
): Promise<{ release(): Promise<void> } | null> {
  const path = join(folder, LOCK_NAME);
  const own = `${path}.${randomBytes(4).toString('hex')}`;
  const length = Buffer.byteLength(own);
  if (length > LONGEST_PATH)
    throw new Error(
      `its path is too long for the socket that locks it: ${length} bytes, of at most ${LONGEST_PATH}`,
    );
  if (await reachesProcess(network.connect({ path }))) return null;
  const server = network.createServer({}, socket => socket.destroy());
  server.listen(own);
  await once(server, 'listening').catch(async error => {
    // Node.js reports EACCES for a missing folder as well.
    await files.stat(folder);
    throw error;
  });
  const { ino } = await files.stat(own);
  const isHeld = async () => (await files.stat(path).catch(() => null))?.ino === ino;
  // If two gateways find the lock free at the same time, the later one takes it from the other.
  try {
    await files.rename(own, path);
  } catch (error) {
    // A listening server would keep the process running. Closing it removes the socket.
    server.close();
    throw error;
  }
  await new Promise<void>(resolve => clock.after(RACE_MS, resolve));
  // Up to here, the server kept the process alive, which has no other work during startup.
  server.unref();
  const lock = {
    async release() {
      if (await isHeld()) await files.remove(path);
      server.close();
    },
  };
  if (await isHeld()) return lock;
  await lock.release();
  return null;
}
