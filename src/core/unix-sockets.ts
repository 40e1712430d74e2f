import { lstat, unlink } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';

/** The address of clients of a Unix socket, which have none: they count as one. */
export const UNIX_PEER = 'unix';

/** The path in `unix:/run/app.sock`, which takes the place of a host; `null` for a host. */
export function socketPath(host: string): string | null {
  return host.startsWith('unix:') ? host.slice('unix:'.length) : null;
}

/** Removes all rights that mode 0660 does not include. */
const UMASK = 0o117;

/**
 * Listens at a Unix socket, which has mode 0660 from the first moment. Replaces the socket of a process that no longer listens.
 * Only for the main thread: workers cannot set a umask. Rejects with Node's errors, EADDRINUSE if another process listens there.
 */
export async function listenAtSocket(server: Server, path: string, backlog: number): Promise<void> {
  await removeStale(path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    const umask = process.umask(UMASK);
    // `listen` binds before it returns.
    server.listen({ path, backlog }, () => resolve());
    process.umask(umask);
  });
}

async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket()) throw cannotListen(path, 'ENOTSOCK');
  if (await isAnswered(path)) throw cannotListen(path, 'EADDRINUSE');
  await unlink(path);
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false);
      else reject(cannotListen(path, code));
    });
  });
}

function cannotListen(path: string, code: string): Error {
  return Object.assign(new Error(`listen ${code}: ${path}`), { code, syscall: 'listen', address: path });
}

/** Closes with RST, which only TCP has. */
export function resetSocket(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // ERR_INVALID_HANDLE_TYPE: it is a Unix socket.
    socket.destroy();
  }
}
