import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

const RESPONSE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/**
 * A service that keeps what reaches it, byte by byte. It answers each message that ends where RFC 9112 says, and never repairs one.
 */
export class RecordingService {
  readonly port: number;
  readonly #connections: Set<Socket>;
  readonly #received: Buffer[];
  readonly #close: () => void;

  private constructor(port: number, connections: Set<Socket>, received: Buffer[], close: () => void) {
    this.port = port;
    this.#connections = connections;
    this.#received = received;
    this.#close = close;
  }

  static async start(): Promise<RecordingService> {
    const connections = new Set<Socket>();
    const received: Buffer[] = [];
    const server = createServer(socket => {
      connections.add(socket);
      socket.on('close', () => connections.delete(socket));
      socket.on('error', () => {});
      let waiting = '';
      socket.on('data', (piece: Buffer) => {
        received.push(piece);
        waiting += piece.toString('latin1');
        for (let end = endOfMessage(waiting); end !== null; end = endOfMessage(waiting)) {
          waiting = waiting.slice(end);
          socket.write(RESPONSE);
        }
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
    return new RecordingService(address.port, connections, received, () => server.close());
  }

  /** What has arrived since the last call. Ends the connections, so that nothing of it meets what comes next. */
  take(): string {
    const bytes = Buffer.concat(this.#received).toString('latin1');
    this.#received.length = 0;
    for (const socket of this.#connections) socket.destroy();
    return bytes;
  }

  stop(): void {
    this.take();
    this.#close();
  }
}

/** Where the first message ends, or `null` while that cannot be known. */
function endOfMessage(text: string): number | null {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const fields = text.slice(0, head);
  const body = head + 4;
  if (/\r\ntransfer-encoding: *chunked/i.test(fields)) {
    const end =
      /^(?:[0-9a-f]*[1-9a-f][0-9a-f]*[^\r\n]*\r\n[\s\S]*?\r\n)*?0+[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/i.exec(
        text.slice(body),
      );
    return end === null ? null : body + end[0].length;
  }
  const end = body + Number(/\r\ncontent-length: *(\d+)/i.exec(fields)?.[1] ?? 0);
  return text.length < end ? null : end;
}
