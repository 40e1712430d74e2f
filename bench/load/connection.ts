import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** The bytes of a GET with these header fields. */
export function requestText(path: string, headers: Readonly<Record<string, string>>): string {
  const fields = Object.entries({ Host: 'bench', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `GET ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`;
}

/** One request after the other, made when it is asked for: with the value of one header field from a list. */
export function* requestsWith(path: string, field: string, values: Iterable<string>): Generator<string> {
  for (const value of values) yield requestText(path, { [field]: value });
}

/**
 * One keep-alive connection that sends one request at a time and reads as much of the response as a measurement needs: its
 * status, and where it ends. Cannot read responses without Content-Length.
 */
export class Connection {
  readonly #socket: Socket;
  #unread = '';
  #settle: { resolve: (status: number) => void; reject: (error: Error) => void } | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#read(text));
    socket.on('error', error => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the connection was closed without a response')));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** Resolves with the status once the whole response has come. */
  ask(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(request, 'latin1');
    });
  }

  /** Whether the server has not closed it, as far as is known. */
  get isOpen(): boolean {
    return this.#socket.writable;
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#unread += text;
    const headEnd = this.#unread.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#unread.slice(0, headEnd);
    const bodyBytes = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#unread.length < headEnd + 4 + bodyBytes) return;
    this.#unread = '';
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve(Number(head.slice(9, 12)));
  }
}
