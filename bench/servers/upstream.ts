// The service behind the gateways. Answers as cheaply as Node can, and reads just enough HTTP for requests without a body or
// with a Content-Length: /bytes/N and /chunked/N at the end of a path ask for N bytes, any other path for 100. Bodies
// are read and dropped. DELAY_MS makes it slow; /count asks how many requests came so far.
import { createServer, type Socket } from 'node:net';

const HEAD = ['HTTP/1.1 200 OK', 'Content-Type: application/json', 'Date: Thu, 01 Jan 2026 00:00:00 GMT'];
const PIECE = Buffer.alloc(64 * 1024, '-');
const LARGEST_KEPT = 2 * 1024 * 1024;
const kept = new Map<string, Buffer>();
let count = 0;
const delayMs = Number(process.env['DELAY_MS'] ?? 0);

createServer({ noDelay: true }, socket => {
  let head = '';
  let bodyLeft = 0;
  let target = '';
  socket.on('data', bytes => {
    let at = 0;
    while (at < bytes.length) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, bytes.length - at);
        bodyLeft -= taken;
        at += taken;
        if (bodyLeft === 0) respond(socket, target);
        continue;
      }
      head += bytes.toString('latin1', at);
      at = bytes.length;
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const rest = head.length - end - 4;
      target = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/1.1\r\n'));
      bodyLeft = head.startsWith('GET ') ? 0 : contentLength(head.slice(0, end));
      head = '';
      at -= rest;
      if (bodyLeft === 0) respond(socket, target);
    }
  });
  socket.on('error', () => socket.destroy());
}).listen(Number(process.env['PORT']), '127.0.0.1');

function contentLength(head: string): number {
  return Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
}

function respond(socket: Socket, path: string): void {
  if (path === '/count') {
    socket.write(whole(`${count}`));
    return;
  }
  count++;
  if (delayMs === 0) answer(socket, path);
  else setTimeout(() => answer(socket, path), delayMs);
}

function answer(socket: Socket, path: string): void {
  const ready = kept.get(path) ?? make(path);
  if (ready === null) void stream(socket, Number(path.slice(path.lastIndexOf('/') + 1)));
  else socket.write(ready);
}

function make(path: string): Buffer | null {
  const [, kind = 'bytes', size = '100'] = /\/(bytes|chunked)\/(\d+)$/.exec(path) ?? [];
  const bytes = Number(size);
  if (bytes > LARGEST_KEPT) return null;
  const made = Buffer.from(kind === 'chunked' ? chunked(bytes) : whole('-'.repeat(bytes)), 'latin1');
  if (kept.size < 1000) kept.set(path, made);
  return made;
}

function whole(body: string): string {
  return [...HEAD, `Content-Length: ${body.length}`, '', body].join('\r\n');
}

/** In chunks of 16 KiB, as Node writes a file that it reads. */
function chunked(bytes: number): string {
  let body = '';
  for (let left = bytes; left > 0; left -= 16_384) {
    const size = Math.min(left, 16_384);
    body += `${size.toString(16)}\r\n${'-'.repeat(size)}\r\n`;
  }
  return [...HEAD, 'Transfer-Encoding: chunked', '', `${body}0\r\n\r\n`].join('\r\n');
}

async function stream(socket: Socket, bytes: number): Promise<void> {
  socket.write([...HEAD, `Content-Length: ${bytes}`, '', ''].join('\r\n'));
  for (let left = bytes; left > 0 && !socket.destroyed; left -= PIECE.length) {
    if (!socket.write(PIECE.subarray(0, Math.min(left, PIECE.length))))
      await new Promise(go => socket.once('drain', go));
  }
}
