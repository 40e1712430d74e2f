import { createServer } from 'node:http';
import { createServer as createH2Server } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

/** A service whose paths take different times: /search is slower, and one in two hundred requests fails. */
export function startApi(port: number): void {
  const server = createServer(async (request, response) => {
    request.resume();
    await sleep(request.url?.startsWith('/search') ? 40 + 160 * Math.random() : 3 + 12 * Math.random());
    response.writeHead(Math.random() < 0.005 ? 500 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ items: '-'.repeat(200 + 2_000 * Math.random()) }));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', socket => socket.on('message', message => socket.send(message)));
  server.listen(port, '127.0.0.1');
}

/** A service that can be switched off: then it breaks off every connection. */
export function startReports(port: number): { up: boolean } {
  const state = { up: true };
  const server = createServer((request, response) => {
    if (!state.up) request.socket.destroy();
    else setTimeout(() => response.end('a report'), 20 + 30 * Math.random());
  });
  server.listen(port, '127.0.0.1');
  return state;
}

/** A gRPC service: most calls succeed. */
export function startCalls(port: number): void {
  const server = createH2Server();
  server.on('stream', stream => {
    stream.resume();
    stream.on('error', () => stream.close());
    const status = Math.random() < 0.97 ? '0' : '5';
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
    stream.end(Buffer.alloc(5));
  });
  server.listen(port, '127.0.0.1');
}
