import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Application, run, startModule } from '../application.ts';

const SERVER = `
import { createServer } from 'node:http';
import { Server } from 'socket.io';
const server = createServer();
const io = new Server(server, { cors: { origin: '*' } });
io.on('connection', socket => {
  socket.on('echo', (value, answer) => answer(value));
  socket.on('all', value => io.emit('told', value));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const CLIENT = `
import { io } from 'socket.io-client';
for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
  const socket = io(process.argv[2], { transports, forceNew: true });
  await new Promise((resolve, reject) => { socket.on('connect', resolve); socket.on('connect_error', reject); });
  const { engine } = socket.io;
  if (transports.length > 1 && engine.transport.name !== 'websocket') await new Promise(resolve => engine.on('upgrade', resolve));
  const answers = [];
  for (const value of [1, 'ä', { a: [null] }, 'x'.repeat(100_000)]) answers.push(JSON.stringify(await socket.emitWithAck('echo', value)).length);
  const told = new Promise(resolve => socket.on('told', resolve));
  socket.emit('all', Buffer.from([0, 255, 10]));
  console.log(transports.join(' to '), socket.io.engine.transport.name, answers.join(), Buffer.from(await told).toString('hex'));
  socket.close();
}
`;

/** Long polling, WebSockets, and the change from one to the other. */
export const socketIo: Application = {
  name: 'socket.io 4.8',
  usedBy: 'its client by long polling, by WebSocket, and from one to the other',
  packages: ['socket.io@4.8.1', 'socket.io-client@4.8.1'],
  route: { websocket: true },
  async start(folder) {
    await writeFile(join(folder, 'server.mjs'), SERVER);
    await writeFile(join(folder, 'client.mjs'), CLIENT);
    return startModule(folder, 'server.mjs');
  },
  use: (url, folder) => run(folder, process.execPath, 'client.mjs', url),
};
