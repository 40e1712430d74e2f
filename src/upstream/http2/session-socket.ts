import type { Socket } from 'node:net';
import { type FieldNames, inNextTurn } from '../../core/index.ts';
import {
  ClientSession,
  type ClientSessionOptions,
  type ClientSessionOwner,
  type ClientStream,
  ErrorCode,
  Http2Fault,
  type StreamHandler,
} from '../../http2/index.ts';
import { type Connect, readyEvent } from '../connect.ts';
import type { UpstreamOptions } from '../transport.ts';
import { OwnFault } from './stream-response.ts';

/** The most that one read returns. */
const READ_BYTES = 65_536;
/** Reads go on in the rest of a buffer of which a client has a part, down to this: a small part must not keep a whole buffer. */
const MIN_READ_BYTES = 32_768;

export interface SessionSocketOwner extends Pick<ClientSessionOwner, 'settingsRead' | 'goaway'> {
  /** The upstream broke a rule of HTTP/2, or the gateway failed to read it. It is told, and the connection closes. */
  faulty(fault: Http2Fault | OwnFault): void;
  /** The upstream has closed or reset the connection, or it was never made. */
  lost(error: Error): void;
  /** The last call. */
  closed(): void;
}

/** The socket of an HTTP/2 session: what was received goes in, and what is to be sent goes out once in a turn of the event loop. */
export class SessionSocket implements ClientSessionOwner {
  readonly #owner: SessionSocketOwner;
  readonly #socket: Socket;
  readonly #session: ClientSession;
  #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  #phase: 'connecting' | 'open' | 'closing' = 'connecting';
  /** The system does not take all that was written. */
  #isFull = false;
  #willFlush = false;
  readonly #flushLater = () => {
    this.#willFlush = false;
    this.#flush();
  };

  constructor(connect: Connect, options: UpstreamOptions, owner: SessionSocketOwner) {
    this.#owner = owner;
    this.#session = new ClientSession(upstreamSessionOptions(options), this);
    const callback = (count: number) => this.#read(count);
    this.#socket = connect(options, { buffer: () => this.#buffer, callback });
    this.#socket.on(readyEvent(options), () => this.#onConnect());
    this.#socket.on('drain', () => this.#onDrain());
    this.#socket.on('error', error => owner.lost(error));
    this.#socket.on('end', () => owner.lost(new Error('the upstream closed the connection')));
    this.#socket.on('close', () => owner.closed());
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** Bytes that wait because the system takes no more. */
  get unwritten(): number {
    return this.#session.unwritten;
  }

  /** Streams that the upstream allows at once. */
  get maxStreams(): number {
    return this.#session.maxStreams;
  }

  /** Whether the upstream takes a header section of this size. */
  accepts(fields: readonly string[]): boolean {
    return this.#session.accepts(fields);
  }

  request(
    fields: readonly string[],
    handler: StreamHandler,
    endsAtOnce: boolean,
    neverIndexed: FieldNames,
  ): ClientStream {
    return this.#session.request(fields, handler, endsAtOnce, neverIndexed);
  }

  ping(): void {
    this.#session.sendPing();
  }

  /** Closes behind a GOAWAY and all that was to be sent. */
  endSoon(code: number = ErrorCode.NO_ERROR): void {
    if (this.#phase === 'closing') return;
    this.#session.goAway(code);
    this.#flush();
    this.#phase = 'closing';
    this.#socket.destroySoon();
    this.#session.lose();
  }

  /** Closes at once. */
  destroy(): void {
    this.#phase = 'closing';
    this.#socket.destroy();
    this.#session.lose();
  }

  wake(): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    // In an immediate: by then, other sockets have been read, and all of their requests leave in one write.
    inNextTurn(this.#flushLater);
  }

  settingsRead(): void {
    this.#owner.settingsRead();
  }

  goaway(lastStream: number, code: number): void {
    this.#owner.goaway(lastStream, code);
  }

  #onConnect(): void {
    if (this.#phase === 'connecting') this.#phase = 'open';
    this.#flush();
  }

  #onDrain(): void {
    this.#isFull = false;
    this.#session.writable = true;
    this.#flush();
  }

  /** While the socket is full, control frames wait here, where floods of them are found. */
  #flush(): void {
    if (this.#phase !== 'open' || this.#isFull) return;
    const bytes = this.#session.take();
    if (bytes.length === 0) return;
    this.#isFull = !this.#socket.write(bytes);
    if (this.#socket.writableLength > 0) this.#session.giveAway();
    if (this.#isFull) this.#session.writable = false;
  }

  #read(count: number): boolean {
    if (!this.#isReading()) return false;
    try {
      const reusable = this.#session.read(this.#buffer, count);
      if (!reusable) this.#keep(count);
    } catch (error) {
      const isTheirs = error instanceof Http2Fault;
      this.#owner.faulty(isTheirs ? error : new OwnFault(error));
      this.endSoon(isTheirs ? error.code : ErrorCode.INTERNAL_ERROR);
    }
    return this.#isReading();
  }

  /** Leaves the first bytes of the buffer to those who have parts of them. */
  #keep(count: number): void {
    const unused = this.#buffer.subarray(count);
    this.#buffer = unused.length < MIN_READ_BYTES ? Buffer.allocUnsafeSlow(READ_BYTES) : unused;
  }

  /** Keeps the compiler from assuming that a call in between left the phase unchanged. */
  #isReading(): boolean {
    return this.#phase !== 'closing';
  }
}

/** The most that one stream may send, and that is held in memory for it, while its client does not read. */
const STREAM_WINDOW_BYTES = 131_072;
/** The same for all streams of a connection. It is returned as bytes arrive, so a slow client does not block the others. */
const WINDOW_BYTES = 8_388_608;
/** Fields of a header section, `:status` among them. A server that sends more only makes work. */
const MAX_FIELDS = 501;

/** The terms on which a connection to an upstream is held. */
function upstreamSessionOptions({ maxHeadBytes }: UpstreamOptions): ClientSessionOptions {
  return {
    streamWindow: STREAM_WINDOW_BYTES,
    connectionWindow: WINDOW_BYTES,
    maxBytes: maxHeadBytes,
    maxFields: MAX_FIELDS,
  };
}
