import type { FieldNames, Fields } from '../../../core/index.ts';
import { MAX_31_BITS, SettingId } from '../frames/index.ts';
import { gradeRequestField, type HeaderSection, TOO_LARGE } from '../hpack/index.ts';
import { ErrorCode, protocolFault } from '../http2-fault.ts';
import { closedFault, Session, type SessionOptions } from '../session/index.ts';
import { ClientFloods } from './client-floods.ts';
import { EarlyPriorities, readPriority } from './priority.ts';
import { headFlaw } from './request-rules.ts';
import { ANY_LENGTH, type RequestHandler, ServerStream, type ServerStreamHost } from './server-stream.ts';

/** Maximum streams that one read opens: the bytes after them wait, so that other connections get their turn. */
const MAX_OPENED = 64;
/** A piece of at least this size is copied if it is less than one part in `KEPT_PART` of its buffer. */
const COPIED_BYTES = 4_096;
const KEPT_PART = 4;
/** Changing this many windows counts as opening one stream, since it takes about as long. */
const CHANGED_WINDOWS = 16;
/** How many reset streams are remembered, per stream that may be open: their clients may not know of the reset yet. */
const REMEMBERED_RESETS = 4;

/**
 * Which streams a session serves.
 *
 * - `open` to `shutting down`: `shutDown` sent the first GOAWAY, which names no stream yet, and a PING
 * - `open` or `shutting down` to `gone`: `goAway` sent the last GOAWAY
 */
type ServerSessionPhase =
  /** Every stream that the client opens. */
  | 'open'
  /** Every stream still. When the client answers the PING, it knows that it should open no more. */
  | 'shutting down'
  /** The streams up to the one that the last GOAWAY named. Later ones are ignored. */
  | 'gone';

/** The server's side of an HTTP/2 connection (RFC 9113), without its socket: bytes in, bytes out. */
export class ServerSession extends Session<ServerStream> implements ServerStreamHost {
  readonly #options: ServerSessionOptions;
  readonly #owner: ServerSessionOwner;
  readonly #floods = new ClientFloods();
  /** The last stream that the client opened, or skipped by opening a higher one. */
  #lastId = 0;
  /** The last stream that is served. A GOAWAY names it, and later streams are ignored. */
  #lastServed = 0;
  /** The range of streams that the client skipped last; the end is exclusive. */
  #skippedFrom = 0;
  #skippedTo = 0;
  /** The last streams that were reset before their requests had ended; negative if reset by the client. */
  readonly #resets: number[] = [];
  #resetAt = 0;
  /** The last stream that was refused before the client could know the maximum. */
  #unawareTo = 0;
  #phase: ServerSessionPhase = 'open';
  #early: EarlyPriorities | null = null;
  /** Streams opened in this turn of the event loop, including the equivalent of other work. */
  #opened = 0;
  /** Deferred bytes, and where they begin. */
  #rest: Buffer | null = null;
  #restAt = 0;
  #hasRead = false;
  /** Bytes of responses written, without framing. */
  #responseBytes = 0;
  /** Bytes of bodies that were consumed, but not granted again because the connection holds too much. */
  #withheld = 0;
  /** True if handlers hold parts of the bytes being read. */
  #areKept = false;
  readonly release = null;

  constructor(options: ServerSessionOptions, owner: ServerSessionOwner) {
    const settings: [number, number][] = [
      [SettingId.MAX_CONCURRENT_STREAMS, options.maxStreams],
      [SettingId.NO_RFC7540_PRIORITIES, 1],
    ];
    if (options.offersConnect) settings.push([SettingId.ENABLE_CONNECT_PROTOCOL, 1]);
    super(options, { isServer: true, settings, grade: gradeRequestField }, () => owner.wake());
    this.#options = options;
    this.#owner = owner;
  }

  /** Bytes of response heads and bodies written. Nothing else that a client makes us write counts as taken by it. */
  get responseBytes(): number {
    return this.#responseBytes + this.sending.sentBytes;
  }

  /** True if bytes were deferred: read no more, and call `readOn` in the next turn of the event loop. */
  get isBehind(): boolean {
    return this.#rest !== null;
  }

  /**
   * Reads the bytes up to `end`. Returns whether they may be overwritten, since nobody holds parts of them. Throws Http2Fault;
   * after that, only `goAway`, `take` and `lose` may be called.
   */
  read(bytes: Buffer, end: number): boolean {
    this.#hasRead = true;
    if (this.#rest !== null) {
      this.#rest = Buffer.concat([this.#rest.subarray(this.#restAt), bytes.subarray(0, end)]);
      this.#restAt = 0;
      return true;
    }
    this.#areKept = false;
    this.#read(bytes, 0, end);
    return !this.#areKept && this.#rest === null;
  }

  protected keepRead(): void {
    this.#areKept = true;
  }

  /** Continues a read that stopped to give other connections their turn. Throws Http2Fault like `read`. */
  readOn(): void {
    const rest = this.#rest;
    if (rest === null) return;
    this.#rest = null;
    this.#read(rest, this.#restAt, rest.length);
  }

  #read(bytes: Buffer, from: number, end: number): void {
    this.#opened = 0;
    const at = this.reader.read(bytes, from, end);
    this.#floods.explained(this.sending.pieces);
    this.sending.pieces = 0;
    this.#floods.check();
    if (at === end) return;
    this.#rest = bytes.subarray(0, end);
    this.#restAt = at;
  }

  /** Announces that the connection will close: streams already on their way are still served (RFC 9113, 6.8). */
  shutDown(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'shutting down';
    this.writer.goaway(MAX_31_BITS, ErrorCode.NO_ERROR);
    // Its acknowledgement shows that the client has read the GOAWAY.
    this.sendPing();
  }

  /** Sends the last GOAWAY: streams above the last one processed are ignored. */
  goAway(code: number): void {
    this.#phase = 'gone';
    this.writer.goaway(this.#lastServed, code);
  }

  /** Reduces flood counts as time passes, and frees what an idle connection does not need. Call it at every sweep. */
  sweep(nowMs: number): void {
    this.#floods.sweep(nowMs);
    this.used(0);
    if (!this.#hasRead) {
      this.writer.rest();
      this.decoder.forget();
      this.encoder.forget();
    }
    this.#hasRead = false;
  }

  sendSection(
    stream: ServerStream,
    status: number,
    fields: Fields,
    ends: boolean,
    neverIndexed: FieldNames,
  ): void {
    const block = this.encoder.encode(fields, neverIndexed, status);
    this.#responseBytes += block.length;
    this.writer.headers(stream.id, block, ends);
  }

  /** Allows the client to send as much again, unless its connection holds too much: then nothing further is read. */
  override used(bytes: number): void {
    this.#withheld += bytes;
    if (this.#withheld === 0 || this.#owner.isOverShare) return;
    super.used(this.#withheld);
    this.#withheld = 0;
  }

  override cancel(stream: ServerStream, code: number): void {
    // Answering a request before its end is not an error.
    if (code !== ErrorCode.NO_ERROR && !stream.isSpared) this.#floods.resets.count();
    if (!stream.isReceived) this.#rememberReset(stream.id);
    super.cancel(stream, code);
  }

  override keep(bytes: Buffer): Buffer {
    // Each read has its own buffer. A slow upload must not keep alive what was read for others.
    const { length, buffer } = bytes;
    const isCopied = length >= COPIED_BYTES && KEPT_PART * length < buffer.byteLength;
    return isCopied ? Buffer.from(new Uint8Array(bytes).buffer) : super.keep(bytes);
  }

  override reset(id: number, code: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) this.#floods.controlFrames.count();
    else this.#floods.resets.count();
    if (stream?.isReceived === false) this.#rememberReset(-id);
    super.reset(id, code);
  }

  override settings(payload: Buffer): void {
    this.#floods.controlFrames.count();
    const { pieces } = this.sending;
    super.settings(payload);
    // DATA released by a larger window must not count as sent: it would allow more control frames, and so endless SETTINGS.
    this.sending.pieces = pieces;
    this.#works(this.streams.size / CHANGED_WINDOWS);
  }

  override ping(payload: Buffer): void {
    this.#floods.controlFrames.count();
    super.ping(payload);
  }

  override pingAcknowledged(): void {
    // RFC 9113, 6.7 defines no error for an acknowledgement of nothing.
    if (this.awaitedPings === 0) {
      this.#floods.controlFrames.count();
      return;
    }
    super.pingAcknowledged();
    if (this.#phase === 'shutting down' && this.awaitedPings === 0) this.#owner.shutDownSeen();
  }

  override windowUpdate(id: number, increment: number): void {
    this.#floods.controlFrames.count();
    super.windowUpdate(id, increment);
  }

  goaway(_lastStream: number, code: number): void {
    this.#floods.controlFrames.count();
    this.#owner.goaway(code);
  }

  ignored(): void {
    this.#floods.controlFrames.count();
  }

  priorityUpdate(id: number, priority: string): void {
    this.#floods.controlFrames.count();
    const stream = this.streams.get(id);
    if (stream !== undefined)
      this.sending.reorder(stream, () => Object.assign(stream, readPriority(priority)));
    else if (id > this.#lastId) {
      this.#early ??= new EarlyPriorities(this.#options.maxStreams);
      this.#early.set(id, priority);
    }
  }

  protected section(id: number, section: HeaderSection, ends: boolean): void {
    if (id % 2 === 0) throw protocolFault('a stream with an even number');
    if (id > this.#lastId) this.#open(id, section, ends);
    else if (id >= this.#skippedFrom && id < this.#skippedTo)
      throw protocolFault('a stream below one that was opened');
    else this.receiving(id)?.onSection(section, ends);
  }

  protected settingsRead(): void {
    this.#owner.settingsRead();
  }

  protected streamOf(id: number): ServerStream | undefined {
    if (id % 2 === 0 || id > this.#lastId) throw protocolFault('a frame of an idle stream');
    return this.streams.get(id);
  }

  /** Returns the stream of a frame with content; undefined if it is closed and its client cannot know that yet. */
  protected override receiving(id: number): ServerStream | undefined {
    const stream = super.receiving(id);
    if (stream !== undefined) return stream;
    this.#floods.controlFrames.count();
    // RFC 9113, 5.1: treat it as a stream error only. gRPC for Java on OkHttp still sends frames that were in progress.
    if (this.#resets.includes(-id)) this.writer.reset(id, ErrorCode.STREAM_CLOSED);
    else if (id > this.#unawareTo && id <= this.#lastServed && !this.#resets.includes(id))
      throw closedFault();
    return undefined;
  }

  #open(id: number, section: HeaderSection, ends: boolean): void {
    if (id > this.#lastId + 2) {
      this.#skippedFrom = this.#lastId + 1;
      this.#skippedTo = id;
    }
    this.#lastId = id;
    this.#works(1);
    if (this.#phase === 'gone') return;
    this.#lastServed = id;
    const isFull =
      this.writer.length + this.sending.waiting > this.#options.maxUnsent || this.#owner.isOverShare;
    if (isFull || this.streams.size >= this.#options.maxStreams) {
      this.#refuse(id, isFull ? ErrorCode.ENHANCE_YOUR_CALM : ErrorCode.REFUSED_STREAM);
      return;
    }
    this.#floods.explained(1);
    this.#request(id, section, ends);
  }

  #works(opened: number): void {
    this.#opened += opened;
    if (this.#opened >= MAX_OPENED) this.reader.stop();
  }

  #refuse(id: number, code: number): void {
    // RFC 9113, 6.5.3: until the client has acknowledged our SETTINGS, it may not know the maximum.
    if (this.awaitedSettings > 0 && code === ErrorCode.REFUSED_STREAM) {
      this.#floods.controlFrames.count();
      this.#unawareTo = id;
    } else this.#floods.refused.count();
    this.#floods.check();
    this.#rememberReset(id);
    this.writer.reset(id, code);
  }

  #request(id: number, section: HeaderSection, ends: boolean): void {
    const flaw = headFlaw(section, ends, this.#options.offersConnect);
    const length = section.length === null || flaw !== null ? ANY_LENGTH : Number(section.length);
    const isMalformed = flaw !== null && flaw !== TOO_LARGE;
    const stream = new ServerStream(id, this, this.peer.window, ends, length, isMalformed);
    const early = this.#early?.take(id);
    if (early !== undefined) Object.assign(stream, early);
    else if (section.priority !== null) Object.assign(stream, readPriority(section.priority));
    this.streams.add(stream);
    // Keep the same object if nothing changes: it shows that the section repeats an earlier one.
    const judged = flaw === section.flaw ? section : { ...section, flaw };
    stream.begin(this.#owner.request(stream, judged, ends));
  }

  #rememberReset(id: number): void {
    this.#resets[this.#resetAt++ % (REMEMBERED_RESETS * this.#options.maxStreams)] = id;
  }
}

/** The windows and bounds of a session. */
export interface ServerSessionOptions extends SessionOptions {
  /** Maximum concurrent streams. */
  readonly maxStreams: number;
  /** Whether extended CONNECT is offered (RFC 8441). */
  readonly offersConnect: boolean;
  /** Maximum bytes waiting to be sent. While there are more, new streams are refused. */
  readonly maxUnsent: number;
}

export interface ServerSessionOwner {
  /** True while more is held for the connection's client than its share: no streams are opened, and no body is read further. */
  readonly isOverShare: boolean;
  /** Called when there are bytes to take and write by the end of this turn of the event loop. */
  wake(): void;
  /**
   * Called when a request arrives, pseudo-fields first. A section with a flaw other than TOO_LARGE belongs to a malformed
   * request: answer 400; its stream is then reset. It may be answered within the call.
   *
   * @param ends true if the request has no body
   */
  request(stream: ServerStream, section: HeaderSection, ends: boolean): RequestHandler;
  /** Called when SETTINGS of the client were read, the first ones or changes. */
  settingsRead(): void;
  /** Called when the client knows that the connection will close: send the last GOAWAY. */
  shutDownSeen(): void;
  /** Called when the client has sent a GOAWAY with this code. */
  goaway(code: number): void;
}
