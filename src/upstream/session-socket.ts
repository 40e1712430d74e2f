import type { Socket } from 'node:net';
import { type FieldNames, TurnWriter } from '../core/index.ts';
import type { ClientSessionOwner, ClientStream, SessionOptions, StreamHandler } from '../http2/index.ts';
import { ClientSession, ErrorCode, Http2Fault } from '../http2/index.ts';
import { type Connect, readyEvent } from './connect.ts';
import { OwnFault } from './stream-response.ts';
import type { UpstreamOptions } from './transport.ts';

/** Most bytes that one read returns. */
const READ_BYTES = 65_536;
/** Smallest part of a buffer that is read into while clients still hold its other part: small pieces must not keep large buffers. */
const MIN_READ_BYTES = 32_768;

/** Hears what happens on the connection of a session. */
export interface SessionSocketOwner extends Pick<ClientSessionOwner, 'settingsRead' | 'goaway'> {
  /** Called when the upstream broke a rule of HTTP/2, or the gateway failed to read it. A GOAWAY follows, and the connection closes. */
  faulty(fault: Http2Fault | OwnFault): void;
  /** Called when the upstream has closed or reset the connection, or it could not be established. */
  lost(error: Error): void;
  /** Called last, when the connection is gone. */
  closed(): void;
}

/** The socket of an HTTP/2 session: feeds it what arrives, and writes what it has to send once in a turn of the event loop. */
export class SessionSocket implements ClientSessionOwner {
  readonly #owner: SessionSocketOwner;
  readonly #socket: Socket;
  readonly #session: ClientSession;
  #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  /** `null` until there is a socket. */
  #writer: TurnWriter | null = null;
  #isClosing = false;

  constructor(connect: Connect, options: UpstreamOptions, owner: SessionSocketOwner) {
    this.#owner = owner;
    this.#session = new ClientSession(upstreamSessionOptions(options), this);
    const callback = (count: number) => this.#read(count);
    this.#socket = connect(options, { buffer: () => this.#buffer, callback });
    const writer = new TurnWriter(this.#socket, this.#session);
    this.#writer = writer;
    this.#socket.on(readyEvent(options), () => writer.open());
    this.#socket.on('error', error => owner.lost(error));
    this.#socket.on('end', () => owner.lost(new Error('the upstream closed the connection')));
    this.#socket.on('close', () => owner.closed());
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** The number of bytes that wait because the system takes no more. */
  get unwritten(): number {
    return this.#session.unwritten;
  }

  /** How many streams the upstream allows at the same time. */
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

  /** Closes after all that was to be sent and a GOAWAY. */
  endSoon(code: number = ErrorCode.NO_ERROR): void {
    if (this.#isClosing) return;
    this.#session.goAway(code);
    this.#isClosing = true;
    this.#writer?.finish();
    this.#socket.destroySoon();
    this.#session.lose();
  }

  /** Closes at once. */
  destroy(): void {
    this.#isClosing = true;
    this.#socket.destroy();
    this.#session.lose();
  }

  wake(): void {
    this.#writer?.wake();
  }

  settingsRead(): void {
    this.#owner.settingsRead();
  }

  goaway(lastStream: number, code: number): void {
    this.#owner.goaway(lastStream, code);
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

  /** Leaves the first bytes of the buffer to the calls that hold parts of them. */
  #keep(count: number): void {
    const unused = this.#buffer.subarray(count);
    this.#buffer = unused.length < MIN_READ_BYTES ? Buffer.allocUnsafeSlow(READ_BYTES) : unused;
  }

  /** Keeps the compiler from assuming that a call in between left it open. */
  #isReading(): boolean {
    return !this.#isClosing;
  }
}

/** Most bytes that one stream may send while its client does not read. They are held in memory. */
const STREAM_WINDOW_BYTES = 131_072;
/** The window of all streams together. It reopens as bytes arrive, so a slow client does not block the others. */
const WINDOW_BYTES = 8_388_608;
/** Most fields of a header section, `:status` included. A server that sends more only makes work. */
const MAX_FIELDS = 501;

/** The windows and bounds of a connection to an upstream. */
function upstreamSessionOptions({ maxHeadBytes }: UpstreamOptions): SessionOptions {
  return {
    streamWindow: STREAM_WINDOW_BYTES,
    connectionWindow: WINDOW_BYTES,
    maxBytes: maxHeadBytes,
    maxFields: MAX_FIELDS,
  };
}
