import { once } from 'node:events';
import { lstat, unlink } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';

/** The address of clients of a Unix socket, which have none: they count as one. */
export const UNIX_PEER = 'unix';

/** The path in `unix:/run/app.sock`, which takes the place of a host; `null` for a host. */
export function socketPath(host: string): string | null {
  return host.startsWith('unix:') ? host.slice('unix:'.length) : null;
}

/** Formats `host:port`, with an IPv6 address in brackets; a Unix socket, which has no port, as `unix:/run/app.sock`. */
export function formatHostPort({ host, port }: { readonly host: string; readonly port: number }): string {
  if (socketPath(host) !== null) return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Formats `host:port` as a client's URL has it: without the default port (RFC 9110, 4.2.3). A Unix socket is localhost. */
export function authorityAt(
  address: { readonly host: string; readonly port: number },
  isTls: boolean,
): string {
  if (socketPath(address.host) !== null) return 'localhost';
  return formatHostPort(address).replace(isTls ? /:443$/ : /:80$/, '');
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
  const isInUse = await reachesProcess(connect({ path })).catch(({ code = '' }: NodeJS.ErrnoException) => {
    throw cannotListen(path, code);
  });
  if (isInUse) throw cannotListen(path, 'EADDRINUSE');
  await unlink(path);
}

/** Whether a process listens where this socket connects to. Rejects with the system's error if that cannot be said. */
export async function reachesProcess(socket: Socket): Promise<boolean> {
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
