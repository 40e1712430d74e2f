import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { grpcMessage } from '../../bench/load/grpc.ts';

/** Services that take nothing, or never stop sending. */
export interface Stubborn {
  readonly http1Port: number;
  readonly http2Port: number;
  close(): void;
}

export async function startServices(): Promise<Stubborn> {
  const sockets = new Set<Socket>();
  const http1 = createServer(socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveHttp1(socket);
  });
  const http2 = createHttp2Server({ settings: { maxConcurrentStreams: 1_000 } });
  http2.on('stream', (stream: ServerHttp2Stream, fields) => serveHttp2(stream, String(fields[':path'])));
  http2.on('connection', (socket: Socket) => sockets.add(socket));
  const ports: number[] = [];
  for (const server of [http1, http2]) {
    server.listen(0, '127.0.0.1', 20_000);
    await once(server, 'listening');
    ports.push((server.address() as AddressInfo).port);
  }
  const [http1Port = 0, http2Port = 0] = ports;
  const close = () => {
    for (const server of [http1, http2]) server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { http1Port, http2Port, close };
}

/** Looks at the first bytes of a connection, then reads no more. */
function serveHttp1(socket: Socket): void {
  socket.on('error', () => {});
  socket.on('data', bytes => {
    const head = bytes.toString('latin1');
    if (head.includes(' /small')) {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      return;
    }
    socket.pause();
    const key = /^sec-websocket-key: (\S+)/im.exec(head)?.[1];
    if (key !== undefined) {
      const accept = `Sec-WebSocket-Accept: ${createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')}`;
      socket.write(
        [
          'HTTP/1.1 101 Switching Protocols',
          'Connection: Upgrade',
          'Upgrade: websocket',
          accept,
          '',
          '',
        ].join('\r\n'),
      );
    }
    if (!head.includes('/endless ')) return;
    if (key === undefined) socket.write('HTTP/1.1 200 OK\r\n\r\n');
    // A WebSocket message of 64 KiB, or as many bytes of a body.
    const piece = Buffer.alloc(10 + 65_536);
    piece.set([0x82, 0x7f]);
    piece.writeUInt32BE(65_536, 6);
    send(socket, piece);
  });
}

function serveHttp2(stream: ServerHttp2Stream, path: string): void {
  stream.on('error', () => {});
  stream.pause();
  const isCall = path.startsWith('/caps.');
  if (isCall) stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
  if (!path.toLowerCase().endsWith('endless')) return;
  if (!isCall) stream.respond({ ':status': 200 });
  send(stream, grpcMessage(16_000));
}

function send(to: Socket | ServerHttp2Stream, piece: Buffer): void {
  while (!to.destroyed) if (!to.write(piece)) break;
  to.once('drain', () => send(to, piece));
}
