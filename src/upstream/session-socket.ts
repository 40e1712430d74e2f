import type { Socket } from 'node:net';
import { TurnWriter } from '../core/index.ts';
import type { ClientSessionOwner, SessionOptions } from '../wire/http2/index.ts';
import { ClientSession, ErrorCode, Http2Fault } from '../wire/http2/index.ts';
import { outliveBrokenWrites } from './broken-writes.ts';
import { readyEvent } from './connect.ts';
import { type PoolTerms, SLAB_BYTES, type Slab, type SlabStore } from './pool.ts';
import { OwnFault } from './stream-response.ts';
import type { UpstreamOptions } from './transport.ts';

/**
 * The smallest free part of a slab that is read into while clients hold its other part. Reading into less would keep many slabs
 * for small pieces.
 */
const MIN_READ_BYTES = SLAB_BYTES / 2;

/** Is notified of events on the connection of a session. */
export interface SessionSocketOwner extends Pick<ClientSessionOwner, 'settingsRead' | 'goaway'> {
  /**
   * Called when the upstream broke a rule of HTTP/2, or the gateway failed to read it. A GOAWAY follows, and the connection
   * closes.
   */
  faulty(fault: Http2Fault | OwnFault): void;
  /** Called when the upstream accepts no more bytes. What it sent before may still arrive; then `lost` is called. */
  deaf(): void;
  /** Called when the upstream has closed or reset the connection, or it could not be established. */
  lost(error: Error): void;
  /** Called last, when the connection is gone. */
  closed(): void;
}

/**
 * The socket of an HTTP/2 session: passes on what arrives, and writes what the session has to send once per turn of the event
 * loop.
 */
export class SessionSocket {
  readonly session: ClientSession;
  readonly #owner: SessionSocketOwner;
  readonly #socket: Socket;
  readonly #slabs: SlabStore;
  /** The slab that the next read fills, and the position. */
  #slab: Slab;
  #from = 0;
  #buffer: Buffer;
  /** `null` until there is a socket. */
  #writer: TurnWriter | null = null;
  #isClosing = false;

  constructor({ connect, options, slabs }: PoolTerms, owner: SessionSocketOwner) {
    this.#owner = owner;
    this.#slabs = slabs;
    this.#slab = slabs.take();
    this.#buffer = this.#slab.bytes;
    this.session = new ClientSession(upstreamSessionOptions(options), {
      wake: () => this.#writer?.wake(),
      settingsRead: () => owner.settingsRead(),
      goaway: (lastStream, code) => owner.goaway(lastStream, code),
    });
    const callback = (count: number) => this.#read(count);
    this.#socket = connect(options, { buffer: () => this.#buffer, callback });
    const writer = new TurnWriter(this.#socket, this.session);
    this.#writer = writer;
    outliveBrokenWrites(this.#socket, () => {
      writer.stop();
      owner.deaf();
    });
    this.#socket.on(readyEvent(options), () => writer.open());
    this.#socket.on('error', error => owner.lost(error));
    this.#socket.on('end', () => owner.lost(new Error('the upstream closed the connection')));
    this.#socket.on('close', () => {
      this.#slab.detach();
      owner.closed();
    });
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** How often something was written. */
  get writes(): number {
    return this.#writer?.writes ?? 0;
  }

  /** Closes after sending what is pending and a GOAWAY. */
  endSoon(code: number = ErrorCode.NO_ERROR): void {
    if (this.#isClosing) return;
    this.session.goAway(code);
    this.#isClosing = true;
    this.#writer?.finish();
    this.#socket.destroySoon();
    this.session.lose();
  }

  destroy(): void {
    this.#isClosing = true;
    this.#socket.destroy();
    this.session.lose();
  }

  #read(count: number): boolean {
    if (!this.#isReading()) return false;
    try {
      this.session.read(this.#slab, this.#from, this.#from + count);
    } catch (error) {
      const isTheirs = error instanceof Http2Fault;
      this.#owner.faulty(isTheirs ? error : new OwnFault(error));
      this.endSoon(isTheirs ? error.code : ErrorCode.INTERNAL_ERROR);
    }
    this.#moveOn(count);
    return this.#isReading();
  }

  /** Reads on behind the bytes that calls still hold parts of, in another slab if this one has too little room. */
  #moveOn(count: number): void {
    if (this.#slab.lent) this.#from += count;
    else this.#from = 0;
    if (SLAB_BYTES - this.#from < MIN_READ_BYTES) {
      this.#slab = this.#slabs.replace(this.#slab);
      this.#from = 0;
    }
    this.#buffer = this.#from === 0 ? this.#slab.bytes : this.#slab.bytes.subarray(this.#from);
  }

  /** A method, so that the compiler does not assume that a call in between left the socket open. */
  #isReading(): boolean {
    return !this.#isClosing;
  }
}

/** Maximum bytes that one stream may send while its client does not read. They are held in memory. */
const STREAM_WINDOW_BYTES = 131_072;
/** The window of all streams together. It reopens as bytes arrive, so a slow client does not block the others. */
const WINDOW_BYTES = 8_388_608;
/** Maximum fields of a header section, including `:status`. A server that sends more only causes work. */
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
