import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { LoadGenerator, LoadPlan } from './plan.ts';

/** Messages that are under way on each WebSocket. */
const UNDER_WAY = 16;

/** WebSockets that stay open: a message is sent when an earlier one has come back. */
export const webSockets: LoadGenerator = {
  name: 'own sender, messages on each of',
  async run(plan, port, seconds) {
    const open = Array.from({ length: plan.connections }, () => openWebSocket(port, plan));
    const sockets = await Promise.all(open);
    const counts = await Promise.all(
      sockets.map(socket => exchange(socket, '-'.repeat(plan.bodyBytes), seconds)),
    );
    for (const socket of sockets) socket.terminate();
    const requests = counts.reduce((sum, count) => sum + count, 0);
    return { requests, failures: counts.filter(count => count === 0).length };
  },
};

export async function openWebSocket(port: number, { path, headers }: LoadPlan): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers, perMessageDeflate: false });
  await once(socket, 'open');
  socket.on('error', () => {});
  return socket;
}

/** How many messages came back in so many seconds. */
async function exchange(socket: WebSocket, message: string, seconds: number): Promise<number> {
  let count = 0;
  socket.on('message', () => {
    count++;
    socket.send(message);
  });
  for (let i = 0; i < UNDER_WAY; i++) socket.send(message);
  const time = new Promise(resolve => setTimeout(resolve, seconds * 1_000));
  await Promise.race([time, once(socket, 'close')]);
  return count;
}
