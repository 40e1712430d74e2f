import { once } from 'node:events';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait.ts';

/**
 * Every command that a Redis server receives from now on: its words in quotes, one command a line, as MONITOR prints them.
 *
 * Speaks over a bare socket: the monitor mode of ioredis fails with "Command queue state error" when another client's
 * command arrives in the same read as the OK to MONITOR.
 */
export async function monitorRedis(port: number): Promise<{ commands: () => string[]; end: () => void }> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk;
  });
  await once(socket, 'connect');
  socket.write('AUTH tests tests\r\nMONITOR\r\n');
  await waitFor('Redis confirms MONITOR', () => text.startsWith('+OK\r\n+OK\r\n'));
  return {
    commands: () =>
      text
        .split('\r\n')
        .slice(2, -1)
        .map(line => line.replace(/^\+[\d.]+ \[[^\]]*\] /, '')),
    end: () => void socket.destroy(),
  };
}
