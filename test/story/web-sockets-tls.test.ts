import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { inTime } from '../support/test-clock.ts';
import { closing, openSocket } from '../support/web-sockets.ts';
import { startSocketsOverTls } from '../support/web-sockets-tls.ts';

test('over TLS on both sides messages of any size pass, and a drain ends a WebSocket with 1001', async () => {
  const { gateway } = await startSocketsOverTls();
  const socket = await openSocket(gateway, '/', {
    scheme: 'wss',
    rejectUnauthorized: false,
    perMessageDeflate: false,
  });
  for (const size of [1, 5_000, 100_000, 3_000_000]) {
    const bytes = randomBytes(size);
    socket.send(bytes);
    const [echo] = await once(socket, 'message');
    expect(bytes.equals(echo), `${size}`).toBe(true);
  }
  const closed = closing(socket);
  void gateway.app.drain();
  expect(await inTime(gateway.time, closed)).toEqual([1001, 'going away']);
});
