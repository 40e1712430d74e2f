import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket, type ConnectionOptions as TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { waitFor } from '../wait.ts';
import { MessageReader } from './message-reader.ts';
import { type Interim, type Response, ResponseParts } from './response.ts';

export interface ConnectOptions {
  readonly host?: string;
  /** The address to come from; on Linux all of 127.0.0.0/8 is one's own. */
  readonly localAddress?: string;
  /** Speaks TLS, and checks the certificate. */
  readonly tls?: TlsOptions;
}

export interface ResponseOptions {
  /** Method of the request, which decides about a body. Default GET. */
  readonly to?: string;
  /** Bytes of the body to keep. Default all. */
  readonly keepBytes?: number;
  readonly onData?: (bytes: Buffer) => void;
}

/** The connection ended before a byte of a response. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  readonly why: 'close' | 'reset';

  constructor(why: 'close' | 'reset') {
    super(`no response: ${why}`);
    this.why = why;
  }
}

/** Opens a connection that the end of the running test closes. */
export async function connectRaw(port: number, options: ConnectOptions = {}): Promise<RawClient> {
  const client = await openRaw(port, options);
  onTestFinished(() => client.destroy());
  return client;
}

/** Opens a connection that its caller destroys. */
export function openRaw(port: number, options: ConnectOptions = {}): Promise<RawClient> {
  const { host = '127.0.0.1', localAddress, tls } = options;
  const wire = connect({ port, host, allowHalfOpen: true, ...(localAddress && { localAddress }) });
  wire.setNoDelay(true);
  const socket = tls === undefined ? wire : connectTls({ host, ...tls, socket: wire });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.off('error', reject);
      resolve(new RawClient(socket, wire));
    });
  });
}

const TRANSCRIPT_BYTES = 1024 * 1024;

/** A client that sends any bytes, reads responses strictly, and sees how its connection ends. */
export class RawClient {
  readonly #socket: Socket;
  readonly #wire: Socket;
  readonly #queue: Buffer[] = [];
  readonly #transcript: Buffer[] = [];
  #wake: (() => void) | null = null;
  #end: 'close' | 'reset' | null = null;
  /** Bytes received in all. */
  bytesRead = 0;
  /** Bytes that the system has taken from us. */
  bytesFlushed = 0;

  /** @param wire carries `socket`: itself, or what is under TLS */
  constructor(socket: Socket, wire = socket) {
    this.#socket = socket;
    this.#wire = wire;
    socket.on('data', (bytes: Buffer) => this.#received(bytes));
    socket.on('end', () => this.#ended('close'));
    socket.on('error', () => this.#ended('reset'));
    socket.on('close', () => this.#ended('close'));
  }

  /** How the gateway ended the connection: with FIN, with RST, or not yet (null). */
  get end(): 'close' | 'reset' | null {
    return this.#end;
  }

  /** Bytes sent that the system has not taken yet. */
  get bytesWaiting(): number {
    return this.#socket.writableLength;
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  /** Everything received, byte for byte, up to the first MiB. */
  get received(): Buffer {
    return Buffer.concat(this.#transcript);
  }

  /** Resolves when the system took the bytes, or the connection is gone. A string's characters are bytes (latin-1). */
  send(bytes: string | Buffer): Promise<void> {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    return new Promise(resolve => {
      if (this.#socket.destroyed || !this.#socket.writable) return resolve();
      this.#socket.write(buffer, error => {
        if (!error) this.bytesFlushed += buffer.length;
        resolve();
      });
    });
  }

  /** Sends pieces one after the other with a pause between them. */
  async sendSlowly(pieces: Iterable<string | Buffer>, pauseMs: number): Promise<void> {
    for (const piece of pieces) {
      await this.send(piece);
      await new Promise(resolve => setTimeout(resolve, pauseMs));
    }
  }

  /** The next response, with the interim ones before it. Throws NoResponse or a Violation. */
  async answer(options: ResponseOptions = {}): Promise<Response> {
    const interim: Interim[] = [];
    for (;;) {
      const parts = new ResponseParts(
        options.to ?? 'GET',
        options.keepBytes ?? Number.POSITIVE_INFINITY,
        options.onData,
      );
      const reader = new MessageReader(parts);
      const end = await this.#read(reader);
      if (parts.status >= 100 && parts.status < 200 && parts.status !== 101) {
        interim.push({ status: parts.status, fields: parts.fields });
        continue;
      }
      return {
        ...{
          status: parts.status,
          reason: parts.reason,
          fields: parts.fields,
          interim,
          framing: parts.framing,
        },
        ...{ body: parts.body, bodyBytes: parts.bodyBytes, trailers: reader.trailers },
        ...{ complete: end === 'framing' || (end === 'close' && reader.closed()), end },
      };
    }
  }

  /** Waits for a `100 Continue`, to be called before anything else was received. Throws if something else comes, or nothing. */
  async continued(): Promise<void> {
    const says100 = () => this.received.includes('HTTP/1.1 100 ');
    await waitFor(
      'a 100 Continue',
      () => says100() || this.received.includes('\r\n\r\n') || this.#end !== null,
    );
    if (says100()) return;
    const instead =
      this.received.toString('latin1').split('\r\n', 1)[0] || `nothing, and then a ${this.#end}`;
    throw new Error(`no 100 Continue came, but ${instead}`);
  }

  /** Sends a request and reads its response. */
  async ask(bytes: string | Buffer, options: ResponseOptions = {}): Promise<Response> {
    void this.send(bytes);
    const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1', 0, 16);
    return await this.answer({ to: text.split(' ', 1)[0] ?? '', ...options });
  }

  /** Waits for the gateway to end the connection. */
  async ended(): Promise<'close' | 'reset'> {
    while (this.#end === null) await this.#somethingHappens();
    return this.#end;
  }

  /** Stops reading: the system's buffers fill up and then the gateway's. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes our side only. */
  endSending(): void {
    this.#socket.end();
  }

  /** Goes away with a RST. */
  reset(): void {
    this.#wire.resetAndDestroy();
  }

  /** Closes TCP without ending TLS, as an attacker who cuts the connection could. */
  truncate(): void {
    this.#wire.end();
  }

  /** Sends bytes that TLS knows nothing of. */
  sendUnderTls(bytes: Buffer): void {
    this.#wire.write(bytes);
  }

  /** TLS of the connection. */
  get tls(): TLSSocket {
    return this.#socket as TLSSocket;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Bytes received and not yet read as a response. */
  get unread(): Buffer {
    return Buffer.concat(this.#queue);
  }

  async #read(reader: MessageReader): Promise<'framing' | 'close' | 'reset'> {
    for (;;) {
      const bytes = this.#queue.shift();
      if (bytes !== undefined) {
        const rest = reader.push(bytes);
        if (rest === null) continue;
        if (rest.length > 0) this.#queue.unshift(rest);
        return 'framing';
      }
      if (this.#end !== null) {
        if (reader.untouched) throw new NoResponse(this.#end);
        return this.#end;
      }
      await this.#somethingHappens();
    }
  }

  #somethingHappens(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }

  #received(bytes: Buffer): void {
    if (this.bytesRead < TRANSCRIPT_BYTES) this.#transcript.push(bytes);
    this.bytesRead += bytes.length;
    this.#queue.push(bytes);
    this.#wake?.();
  }

  #ended(how: 'close' | 'reset'): void {
    this.#end ??= how;
    this.#wake?.();
  }
}
