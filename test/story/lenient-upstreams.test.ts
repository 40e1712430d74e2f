import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { head } from '../support/requests.ts';

/** A service that answers with these bytes. */
async function front(answer: string, api: Record<string, unknown>) {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => {}).on('data', () => void socket.write(answer, 'latin1'));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  const upstreamPort = typeof address === 'object' && address !== null ? address.port : 0;
  return startGateway({ upstreamPort, api });
}

test.each([
  ['line ends without CR', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['blanks after chunk sizes', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0 \r\n\r\n'],
])('a response with %s is read from a lenient upstream, and written by the rules', async (_, answer) => {
  const lenient = await front(answer, { lenient: true });
  const client = await lenient.connect();
  for (let i = 0; i < 3; i++)
    expect(await client.ask(head('GET /'))).toMatchObject({ status: 200, body: Buffer.from('ok') });
  const strict = await front(answer, {});
  expect((await strict.ask(head('GET /'))).status).not.toBe(200);
});

test('requests are read strictly, whatever the upstream', async () => {
  const gateway = await front('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', { lenient: true });
  for (const request of [
    'GET / HTTP/1.1\nHost: a\n\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n',
  ])
    expect((await gateway.ask(request)).status).toBe(400);
});
