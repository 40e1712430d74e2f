// The service behind the proxies: answers every request with the same 100 bytes, as cheaply as Node can. It knows just
// enough HTTP for requests without a body.
import { createServer } from 'node:net';

const BODY = JSON.stringify({ text: '-'.repeat(89) });
const ANSWER = [
  'HTTP/1.1 200 OK',
  'Content-Type: application/json',
  'Date: Thu, 01 Jan 2026 00:00:00 GMT',
  `Content-Length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n');

createServer({ noDelay: true }, socket => {
  let unfinished = '';
  socket.on('data', bytes => {
    const heads = (unfinished + bytes.toString('latin1')).split('\r\n\r\n');
    unfinished = heads.pop() ?? '';
    if (heads.length > 0) socket.write(ANSWER.repeat(heads.length), 'latin1');
  });
  socket.on('error', () => socket.destroy());
}).listen(Number(process.env['PORT']), '127.0.0.1');
