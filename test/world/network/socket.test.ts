import { once } from 'node:events';
import { type AddressInfo, createServer, connect as nodeConnect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { World } from '../world.ts';

/** More than systems hold for someone who reads nothing: Linux up to 4 MiB where it is sent, and, on some machines, 32 where it is received. */
const PIECE = Buffer.alloc(64 << 20);

/** Destroys a socket whose other end reads nothing. Resolves to what became of its writes, in order. */
async function writesOfDestroyed(socket: Socket, pause: () => Promise<void>): Promise<readonly string[]> {
  const ends: string[] = [];
  socket.on('error', () => {});
  const closed = new Promise<void>(resolve => {
    socket.on('close', () => resolve());
  });
  for (const name of ['first', 'second'])
    socket.write(PIECE, error => ends.push(`${name} ${error ? 'failed' : 'done'}`));
  await pause();
  expect(ends).toEqual([]);
  socket.destroy();
  await closed;
  return ends;
}

test('a socket that is destroyed calls back for all its writes before it closes, in a world as in Node.js', async () => {
  const server = createServer(socket => socket.pause()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const real = nodeConnect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(real, 'connect');
  const inNodeJs = await writesOfDestroyed(real, async () => {});
  server.close();

  const world = new World(1, null);
  const inWorld = await world.kernel.takeOver(async () => {
    const service = world.host('service').start();
    const client = world.host('client').start();
    service.system.network.createServer({}, socket => socket.pause()).listen({ host: '10.0.0.1', port: 80 });
    const socket = client.network.connect({ host: '10.0.0.1', port: 80 });
    const writes = writesOfDestroyed(socket.asSocket, () => world.pause(1_000));
    await world.kernel.until(writes);
    return writes;
  });
  expect(inWorld).toEqual(inNodeJs);
  expect(inWorld).toEqual(['first failed', 'second failed']);
});
