import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the system gives to outgoing connections and to listeners on port 0 (32768 and up on Linux). */
const FIRST = 10_240;
const END = 32_000;

/**
 * A port of 127.0.0.1 where nothing listens now. No other test that runs at the same time is given it, except by a rare
 * coincidence: a port from the system itself would be given again as soon as it is free.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const free = await Promise.race([
    once(server, 'listening').then(() => true),
    new Promise<boolean>(resolve => server.once('error', () => resolve(false))),
  ]).catch(() => false);
  if (!free) return false;
  server.close();
  await once(server, 'close');
  return true;
}
