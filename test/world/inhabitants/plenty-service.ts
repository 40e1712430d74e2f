import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Network } from '../../../src/core/index.ts';
import { wordOf } from './http-service.ts';
import { Service } from './service.ts';

/** Where it gives: over HTTP/1.1 and HTTP/2, in a WebSocket, and as calls. */
export const PLENTY = {
  ...{ http1: '/v1/plenty', h2: '/v1/plenty-h2', webSocket: '/v1/plenty-live' },
  call: '/world.Plenty/Give',
} as const;
/** The field in which a client says what it wants: a status, and how many bytes. */
export const WANT = 'x-want';

const PIECE = Buffer.alloc(16_384, 'z');

/** Gives at once what it is asked for, and as much: in the response to a request, as a message of a call, as messages of a WebSocket. */
export class PlentyService extends Service {
  readonly #multiplexedPort = 81;

  get multiplexedUrl(): string {
    return `http://${this.host.address}:${this.#multiplexedPort}`;
  }

  protected listen(network: Network, listening: () => void): void {
    const upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    const server = network.createHttpServer((request, response) => this.#give(request, response));
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      const { bytes } = this.#asked(request.headers, 'for a WebSocket');
      upgrades.handleUpgrade(request, socket, head, webSocket => {
        webSocket.on('error', () => {});
        for (let left = bytes; left > 0; left -= PIECE.length) webSocket.send(PIECE);
      });
    });
    const multiplexed = createServer();
    multiplexed.on('session', session => session.on('error', () => {}));
    multiplexed.on('stream', (stream: ServerHttp2Stream, fields) => this.#giveOn(stream, fields));
    const { address: host } = this.host;
    network
      .createServer({}, socket => multiplexed.emit('connection', socket))
      .listen({ host, port: this.#multiplexedPort }, () =>
        server.listen({ host, port: this.port }, listening),
      );
  }

  #give(request: IncomingMessage, response: ServerResponse): void {
    const { id, status, bytes } = this.#asked(request.headers, `${request.method} ${request.url}`);
    request.resume();
    response.on('error', () => {});
    response.sendDate = false;
    const isCounted = status !== 204 && this.draws.part(id).percent(50);
    response.writeHead(status, { ...fieldsOf(id), ...(isCounted && { 'content-length': bytes }) });
    for (let left = bytes; left > 0; left -= PIECE.length) response.write(PIECE.subarray(0, left));
    response.end();
    this.#given(id);
  }

  #giveOn(stream: ServerHttp2Stream, fields: IncomingHttpHeaders): void {
    const { id, status, bytes } = this.#asked(fields, `${fields[':method']} ${fields[':path']}`);
    stream.on('error', () => {});
    // Its request may have been reset by what was read together with it.
    if (stream.destroyed) return;
    stream.resume();
    const isCall = fields['content-type']?.startsWith('application/grpc') === true;
    const head = { ':status': status, ...fieldsOf(id), date: 'now' };
    if (!isCall) {
      const isEmpty = fields[':method'] === 'HEAD' || status === 204 || bytes === 0;
      stream.respond(head, { endStream: isEmpty });
      if (!isEmpty) stream.end(Buffer.alloc(bytes, 'z'));
    } else if (bytes === 0) {
      stream.respond({ ...head, 'content-type': 'application/grpc', 'grpc-status': 0 }, { endStream: true });
    } else {
      stream.respond({ ...head, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        if (!stream.destroyed) stream.sendTrailers({ 'grpc-status': 0 });
      });
      const message = Buffer.alloc(5 + bytes, 'z');
      message.writeUInt8(0);
      message.writeUInt32BE(bytes, 1);
      stream.end(message);
    }
    this.#given(id);
  }

  #asked(
    fields: IncomingHttpHeaders,
    what: string,
  ): { readonly id: string; readonly status: number; readonly bytes: number } {
    const id = String(fields['x-world'] ?? '');
    this.heard(id, what, fields.authorization !== undefined);
    const [status = 200, bytes = 0] = String(fields[WANT] ?? '')
      .split(' ')
      .map(Number);
    return { id, status, bytes };
  }

  #given(id: string): void {
    const asked = this.world.requests.find(id);
    if (asked !== undefined) asked.givenMs = this.world.nowMs;
  }
}

/** Its own fields take room in HTTP/2, too: no table of HPACK knows them. */
function fieldsOf(id: string): Readonly<Record<string, string>> {
  return { 'x-world': id, 'x-words': wordOf(id).repeat(20) };
}
