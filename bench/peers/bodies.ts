// An upstream whose target says how much it answers: `/65536` that many bytes by length, `/chunked/65536` in chunks of
// 16 KiB. It knows just enough HTTP for requests whose body, if any, is told by Content-Length and comes at once.
import { createServer } from 'node:net';

const CHUNK = 16_384;
const answers = new Map<string, Buffer>();

function answerTo(target: string): Buffer {
  const known = answers.get(target);
  if (known !== undefined) return known;
  const bytes = Number(/\d+$/.exec(target)?.[0] ?? 0);
  const answer = target.startsWith('/chunked/') ? inChunks(bytes) : byLength(bytes);
  answers.set(target, answer);
  return answer;
}

function byLength(bytes: number): Buffer {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`,
  );
}

function inChunks(bytes: number): Buffer {
  let body = '';
  for (let left = bytes; left > 0; left -= CHUNK) {
    const size = Math.min(left, CHUNK);
    body += `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
  }
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`,
  );
}

createServer({ noDelay: true }, socket => {
  let unread = '';
  socket.on('data', bytes => {
    unread += bytes.toString('latin1');
    for (;;) {
      const end = unread.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(unread.slice(0, end + 2))?.[1] ?? 0);
      if (unread.length < end + 4 + length) return;
      socket.write(answerTo(unread.split(' ', 2)[1] ?? ''));
      unread = unread.slice(end + 4 + length);
    }
  });
  socket.on('error', () => socket.destroy());
}).listen(Number(process.env['PORT']), '127.0.0.1');
