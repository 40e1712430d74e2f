import { createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';

/** A service with one thread: it reads from one connection until that closes, and only then from the next. */
async function startSerial(): Promise<{ readonly port: number; readonly served: () => number }> {
  const waiting: Socket[] = [];
  let isBusy = false;
  let served = 0;
  const next = () => {
    const socket = waiting.shift();
    isBusy = socket !== undefined;
    socket?.on('close', next).on('data', bytes => {
      served++;
      const isHead = bytes.toString('latin1').startsWith('HEAD');
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${isHead ? '' : 'ok'}`);
    });
    socket?.resume();
  };
  const server: Server = createServer({ pauseOnConnect: true }, socket => {
    waiting.push(socket.on('error', () => {}));
    if (!isBusy) next();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  return { port: (server.address() as { port: number }).port, served: () => served };
}

test('a service with one thread answers the next request once a connection has rested, and then at once', async () => {
  const service = await startSerial();
  const gateway = await startGateway({ upstreamPort: service.port });
  const client = await gateway.connect();
  const ask = () => client.ask(head('HEAD /a'), { to: 'HEAD' });
  await ask();
  const second = ask();
  await gateway.time.advanceUntil('the second is served', () => service.served() === 2, 25);
  expect((await second).status).toBe(200);
  // Without any time.
  for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(200);
});

test('a service with one thread serves clients in turn', async () => {
  const service = await startSerial();
  const gateway = await startGateway({ upstreamPort: service.port });
  const clients = await Promise.all([gateway.connect(), gateway.connect()]);
  let answers = 0;
  const all = Promise.all(
    clients.map(async client => {
      for (let i = 0; i < 5; i++) expect((await client.ask(head('GET /a'))).status).toBe(200);
      answers++;
    }),
  );
  await gateway.time.advanceUntil('all are served', () => answers === 2, 25);
  await all;
  await waitFor('each was served', () => service.served() >= 10);
});
