import { once } from 'node:events';
import { connect } from 'node:net';

const PIECE = Buffer.alloc(64 * 1024, '-');

/** Sends a request head and then so many bytes of body, and reads to the end of the response, whose size is given. */
export async function streamThrough(
  port: number,
  head: string,
  sizes: { readonly up: number; readonly down: number },
): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let received = 0;
  let start = '';
  let headBytes = 0;
  const answered = new Promise<void>((done, fail) => {
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(`the stream broke off after ${received} bytes`)));
    socket.on('data', bytes => {
      received += bytes.length;
      if (headBytes === 0) {
        start += bytes.toString('latin1');
        headBytes = start.indexOf('\r\n\r\n') + 4;
        if (headBytes < 4) headBytes = 0;
        else if (!start.startsWith('HTTP/1.1 200')) fail(new Error(start.slice(0, headBytes)));
      }
      if (headBytes > 0 && received >= headBytes + sizes.down) done();
    });
  });
  socket.write(head);
  for (let sent = 0; sent < sizes.up; sent += PIECE.length) {
    if (!socket.write(PIECE)) await Promise.race([once(socket, 'drain'), answered]);
  }
  await answered;
  socket.destroy();
}
