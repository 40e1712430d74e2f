import type { AddressInfo, Server, Socket } from 'node:net';
import type { Network } from '../../../core/index.ts';
import { CallFrames, FrameScan, isHttp2, SERVER_BEGINS } from './played-frames.ts';

const BODY = 'x'.repeat(100);

const HEAD = [
  'HTTP/1.1 200 OK',
  'Content-Type: text/plain',
  'Cache-Control: no-store',
  `Content-Length: ${BODY.length}`,
];
const RESPONSE = `${HEAD.join('\r\n')}\r\n\r\n${BODY}`;

const HEAD_END = '\r\n\r\n';

/** A service that answers every request and gRPC call at once, and the key set of an issuer. */
export class PlayedService {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #keySet: string;

  constructor(network: Network, keySet: string) {
    this.#keySet = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${keySet.length}\r\n\r\n${keySet}`;
    this.#server = network.createServer({ noDelay: true }, socket => this.#serve(socket));
  }

  listen(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', () => resolve(this.url));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.once('data', (first: Buffer) => {
      const take = isHttp2(first) ? this.#answerCalls(socket) : this.#answerRequests(socket);
      take(first);
      socket.on('data', take);
    });
  }

  /** Requests have no bodies, so each ends with its head. */
  #answerRequests(socket: Socket): (bytes: Buffer) => void {
    let rest = '';
    return bytes => {
      const heads = (rest + bytes.toString('latin1')).split(HEAD_END);
      rest = heads.pop() ?? '';
      const responses = heads.map(head => (head.startsWith('GET /keys ') ? this.#keySet : RESPONSE));
      if (responses.length > 0) socket.write(responses.join(''), 'latin1');
    };
  }

  #answerCalls(socket: Socket): (bytes: Buffer) => void {
    const frames = new CallFrames();
    socket.write(SERVER_BEGINS);
    return new FrameScan(
      true,
      answered => {
        if (answered.length > 0) socket.write(Buffer.concat(answered.map(stream => frames.response(stream))));
      },
      reply => socket.write(reply),
    ).take;
  }
}
