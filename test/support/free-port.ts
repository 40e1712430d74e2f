import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';

/** Below the ports that the system gives to outgoing connections and to listeners on port 0 (32768 and up on Linux). */
const FIRST = 10_240;
const END = 32_000;

/**
 * A port of 127.0.0.1 where nothing listens now. On Linux nobody else is given it until this process ends: a test may start what
 * listens there late, and again, or count on nothing being there.
 *
 * @param second the port this far above is free as well. Default: it does not matter
 */
export async function freePort(second = 0): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END - second);
    if ((await isTaken(port)) || (second > 0 && (await isTaken(port + second)))) continue;
    return port;
  }
}

/** Whether somebody has the port. It is reserved for this process if not. */
async function isTaken(port: number): Promise<boolean> {
  return !(await reserve(port)) || !(await isFree(port));
}

/** Takes the port's name among the test processes of this machine. The kernel gives it back with the process, however that ends. */
async function reserve(port: number): Promise<boolean> {
  // Only Linux has names that are no files.
  if (process.platform !== 'linux') return true;
  const server = await listener({ path: `\0weir-test-port-${port}` });
  server?.unref();
  return server !== null;
}

async function isFree(port: number): Promise<boolean> {
  const server = await listener({ port, host: '127.0.0.1' });
  if (server === null) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/** Null if somebody else listens there. */
async function listener(options: ListenOptions): Promise<Server | null> {
  const server = createServer().listen(options);
  return new Promise((resolve, reject) => {
    server.once('listening', () => resolve(server));
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
  });
}
