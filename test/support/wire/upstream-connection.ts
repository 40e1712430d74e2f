import type { Socket } from 'node:net';
import { CapturedRequest } from './captured-request.ts';
import type { WireFields } from './fields.ts';
import { type Framing, requestFraming } from './framing.ts';
import { MessageReader } from './message-reader.ts';
import { parseRequestLine, requireOneHost } from './request-line.ts';
import { ConnectionGone, UpstreamExchange } from './upstream-exchange.ts';
import { Violation } from './violation.ts';

export interface ConnectionOwner {
  /** Runs the script for a request. */
  run(exchange: UpstreamExchange): void | Promise<void>;
  request(request: CapturedRequest): void;
  violation(text: string): void;
  scriptError(error: unknown): void;
}

/** One connection from the gateway. */
export class UpstreamConnection {
  readonly id: number;
  readonly requests: CapturedRequest[] = [];
  bytesRead = 0;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #keepBytes: number;
  readonly #gone = Promise.withResolvers<void>();
  #reader: MessageReader;
  #exchange: UpstreamExchange | null = null;
  #refused = false;
  #ended = false;

  constructor(socket: Socket, id: number, keepBytes: number, owner: ConnectionOwner) {
    this.id = id;
    this.#socket = socket;
    this.#keepBytes = keepBytes;
    this.#owner = owner;
    this.#reader = this.#newReader();
    socket.on('data', (bytes: Buffer) => this.#received(bytes));
    socket.on('end', () => this.#peerEnded());
    socket.on('error', () => {});
    socket.on('close', () => this.#peerEnded());
  }

  /** False once the gateway has ended its side, or the connection is gone altogether. */
  get open(): boolean {
    return !this.#ended && !this.#socket.destroyed;
  }

  /** Resolves when the gateway closed the connection or reset it, or we did. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** Writes any bytes: parts of a response, or unsolicited ones. Rejects if the connection is gone. */
  write(bytes: string | Buffer): Promise<void> {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    return new Promise((resolve, reject) => {
      if (!this.#socket.writable) return reject(new ConnectionGone());
      this.#socket.write(buffer, error => (error ? reject(new ConnectionGone()) : resolve()));
    });
  }

  /** Bytes written that the system has not taken yet. */
  get bytesWaiting(): number {
    return this.#socket.writableLength;
  }

  /** Closes with FIN. */
  end(): void {
    this.#socket.end();
  }

  /** Closes with RST. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Stops reading: the system's buffers fill up and then the gateway's. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  #newReader(): MessageReader {
    return new MessageReader({
      head: (startLine, fields, bytes) => this.#head(startLine, fields, bytes),
      data: bytes => this.#exchange?.request.data(bytes),
    });
  }

  #received(bytes: Buffer): void {
    this.bytesRead += bytes.length;
    if (this.#refused) return;
    try {
      for (let rest: Buffer | null = bytes; rest !== null && rest.length > 0; ) {
        rest = this.#reader.push(rest);
        if (rest === null) return;
        this.#exchange?.requestComplete(this.#reader.trailers);
        this.#reader = this.#newReader();
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#refused = true;
      this.#owner.violation(`connection ${this.id}, request ${this.requests.length}: ${error.message}`);
      this.#socket.destroy();
    }
  }

  #head(startLine: string, fields: WireFields, head: Buffer): Framing {
    const { method, target } = parseRequestLine(startLine);
    requireOneHost(fields);
    const framing = requestFraming(fields);
    if (this.#exchange?.answering)
      throw new Violation(`${startLine}: the request before it has no response yet`);
    const request = new CapturedRequest(this, { method, target, fields, head, framing }, this.#keepBytes);
    this.#exchange = new UpstreamExchange(this, request);
    this.requests.push(request);
    this.#owner.request(request);
    void this.#runScript(this.#exchange);
    return framing;
  }

  async #runScript(exchange: UpstreamExchange): Promise<void> {
    try {
      await this.#owner.run(exchange);
    } catch (error) {
      if (!(error instanceof ConnectionGone)) this.#owner.scriptError(error);
    }
    exchange.answering = false;
  }

  #peerEnded(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#refused && !this.#reader.untouched && this.#reader.inHead) {
      this.#owner.violation(`connection ${this.id}: it ended inside a header section`);
    }
    this.#exchange?.connectionGone();
    this.#socket.end();
    this.#gone.resolve();
  }
}
