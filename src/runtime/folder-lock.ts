import { once } from 'node:events';
import { join } from 'node:path';
import type { Network, System } from '../core/index.ts';

const LOCK_NAME = 'weir.lock';

/** How long after taking the lock it is clear that nobody has taken it at the same moment. */
const RACE_MS = 100;

/** The longest path of a socket, in bytes: on Linux; other systems have a few less. */
const LONGEST_PATH = 107;

/**
 * Takes a folder for this gateway alone; `null` if a living gateway on this machine has it. The lock is a socket in the folder: it
 * lives no longer than its process, whatever ended that, and is seen from other containers too. Two machines that share a folder
 * do not see each other. Throws what the system says, such as EACCES.
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
  if (await isAnswered(path, network)) return null;
  const server = network.createServer({}, socket => socket.destroy());
  server.listen(own);
  await once(server, 'listening').catch(async error => {
    // Node.js says EACCES of a folder that is missing, too.
    await files.stat(folder);
    throw error;
  });
  const { ino } = await files.stat(own);
  const isHeld = async () => (await files.stat(path).catch(() => null))?.ino === ino;
  // Where two find the lock free at the same moment, the later one takes it from the other.
  try {
    await files.rename(own, path);
  } catch (error) {
    // It would keep the process running. The socket goes with it.
    server.close();
    throw error;
  }
  await new Promise<void>(resolve => clock.after(RACE_MS, resolve));
  // Until here it keeps the process running, which has nothing else to do while it starts.
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

async function isAnswered(path: string, network: Network): Promise<boolean> {
  const socket = network.connect({ path });
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return false;
    throw error;
  } finally {
    socket.destroy();
  }
}
