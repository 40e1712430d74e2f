import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { sleep } from './wait.ts';

const LISTENER = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/**
 * A port of 127.0.0.1 at which connecting takes for ever: its process waits and its queue of connections is full.
 * The end of the running test frees it.
 */
export async function deafPort(): Promise<number> {
  const child = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
  });
  const [line] = await once(child.stdout, 'data');
  const port = Number(String(line));
  for (let waiting = 0; waiting < 100; waiting++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), sleep(20)]);
    // On a busy machine the pause may be over before a connection is seen that is there.
    await turn();
    if (socket.connecting) return port;
  }
  throw new Error('the queue of connections does not fill up');
}
