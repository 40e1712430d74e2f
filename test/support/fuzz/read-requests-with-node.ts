import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MemorySocket } from '../memory-socket.ts';
import type { RequestsReading, SeenRequest } from './request-reading.ts';

/** How far Node has come with a connection. */
interface Progress {
  readonly seen: { readonly request: IncomingMessage; body: string; readonly persistent: boolean }[];
  error: string;
  /** It was asked for a tunnel, and reads no further. */
  tunnel: boolean;
}

const progress = new Map<Socket, Progress>();

/** As strict as Node gets, except for `Host`, which the gateway judges. Never responds, and so reads to the end. */
const server = createServer({
  insecureHTTPParser: false,
  requireHostHeader: false,
  maxHeaderSize: 1_048_576,
});
server.maxHeadersCount = 0;
server.on('request', take);
server.on('checkContinue', take);
server.on('checkExpectation', take);
server.on('connect', request => {
  const connection = progressOf(request.socket);
  connection.seen.push({ request, body: '', persistent: false });
  connection.tunnel = true;
});
server.on('clientError', (error: Error & { code?: string }, socket) => {
  progressOf(socket as Socket).error ||= error.code ?? error.message;
});

/** What Node's own server reads from a connection that brings these bytes and ends. */
export async function readRequestsWithNode(bytes: Buffer): Promise<RequestsReading> {
  const wire = new MemorySocket();
  const connection: Progress = { seen: [], error: '', tunnel: false };
  progress.set(wire.asSocket, connection);
  server.emit('connection', wire);
  wire.bring(bytes);
  await new Promise(resolve => setImmediate(resolve));
  const reading = readingOf(connection);
  wire.destroy();
  progress.delete(wire.asSocket);
  return reading;
}

function readingOf({ seen, error, tunnel }: Progress): RequestsReading {
  const requests = seen.map(
    ({ request, body, persistent }): SeenRequest => ({
      method: request.method ?? '',
      target: request.url ?? '',
      version: request.httpVersion,
      fields: request.rawHeaders,
      body,
      trailers: request.rawTrailers,
      complete: request.complete || tunnel,
      persistent,
      turnedAway: null,
    }),
  );
  if (error !== '') return { requests, outcome: 'refused', why: error, status: 0 };
  const complete = requests.every(request => request.complete);
  return { requests, outcome: tunnel ? 'closed' : complete ? 'between' : 'inside', why: '', status: 0 };
}

function take(request: IncomingMessage, response: ServerResponse): void {
  const entry = { request, body: '', persistent: response.shouldKeepAlive };
  progressOf(request.socket).seen.push(entry);
  request.on('data', (chunk: Buffer) => {
    entry.body += chunk.toString('latin1');
  });
  request.on('error', () => {});
}

function progressOf(socket: Socket): Progress {
  const found = progress.get(socket);
  if (found === undefined) throw new Error('a connection that nobody opened');
  return found;
}
