import { createHash } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { HeaderSection, StreamHandler } from '../../../src/wire/http2/index.ts';
import type { Asked } from '../requests.ts';
import { fieldsOf } from './http2-client.ts';
import { Exchange, type Http2Connection } from './http2-connection.ts';

const HEAD_END = '\r\n\r\n';
/** RFC 6455, 1.3. */
const ACCEPT_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Fields that concern a body, of which the translated response has none. */
const OF_BODIES = new Set(['content-length', 'transfer-encoding']);

/**
 * A stream of HTTP/2 that looks to `ws` like a connection of HTTP/1.1: its handshake goes to the gateway as an extended CONNECT
 * (RFC 8441), and the response comes back as one of HTTP/1.1. Behind them it carries bytes both ways, at the reader's pace.
 */
export class WebSocketStream extends Duplex {
  readonly #asked: Asked;
  readonly #connection: Http2Connection;
  readonly #exchange = new Exchange(
    () => {},
    () => false,
  );
  readonly #handler: StreamHandler = {
    section: (section, ends) => this.#section(section, ends),
    data: bytes => !this.#isOpen || this.push(bytes),
    ended: () => {
      if (this.#isOpen) this.push(null);
      // The session has closed the stream: nothing waits any more.
      this.#drained();
    },
    drained: () => this.#drained(),
    closed: () => this.destroy(),
  };
  /** The request of HTTP/1.1, until it is whole; `null` behind it. */
  #head: string | null = '';
  #key = '';
  #isOpen = false;
  /** Goes on with writing, once what was written has been sent. */
  #written: (() => void) | null = null;

  constructor(asked: Asked, connection: Http2Connection) {
    super({ allowHalfOpen: true });
    this.#asked = asked;
    this.#connection = connection;
  }

  override _read(): void {
    this.#exchange.stream?.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#head !== null) {
      this.#head += bytes.toString('latin1');
      if (this.#head.includes(HEAD_END)) this.#ask(this.#head);
      done();
      return;
    }
    const { stream } = this.#exchange;
    if (stream === null || stream.isClosed || stream.write(bytes)) done();
    else this.#written = done;
  }

  override _final(done: () => void): void {
    this.#exchange.stream?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#exchange.stream?.cancel();
    done(error);
  }

  #section(section: HeaderSection, ends: boolean): void {
    const before = this.#exchange.fields;
    this.#exchange.section(section, false);
    const status = Number(this.#exchange.fields.get(':status'));
    if (before === this.#exchange.fields || status < 200) return;
    this.#isOpen = status === 200;
    this.push(this.#isOpen ? this.#agreement() : this.#refusal(status), 'latin1');
    if (!this.#isOpen || ends) this.push(null);
  }

  #drained(): void {
    const written = this.#written;
    this.#written = null;
    written?.();
  }

  #ask(head: string): void {
    this.#head = null;
    this.#key = /^Sec-WebSocket-Key: (.*)\r$/im.exec(head)?.[1] ?? '';
    this.#connection.onceSettled(() => {
      if (this.destroyed) return;
      if (this.#connection.isUsable)
        this.#connection.open(this.#asked, connectOf(this.#asked), this.#exchange, false, this.#handler);
      else this.destroy();
    });
  }

  #agreement(): string {
    const accept = createHash('sha1').update(this.#key + ACCEPT_KEY);
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
    return this.#lines([...lines, `Sec-WebSocket-Accept: ${accept.digest('base64')}`]);
  }

  #refusal(status: number): string {
    return this.#lines([`HTTP/1.1 ${status} Refused`, 'Connection: close', 'Content-Length: 0']);
  }

  #lines(first: readonly string[]): string {
    const fields = [...this.#exchange.fields].filter(
      ([name]) => !name.startsWith(':') && !OF_BODIES.has(name),
    );
    return [...first, ...fields.map(([name, value]) => `${name}: ${value}`)].join('\r\n') + HEAD_END;
  }
}

function connectOf(asked: Asked): string[] {
  const [, , ...rest] = fieldsOf(asked, null);
  return [':method', 'CONNECT', ':protocol', 'websocket', ...rest, 'sec-websocket-version', '13'];
}
