import type { FieldNames, Fields } from '../../core/index.ts';
import { MAX_31_BITS, Setting } from '../frames/index.ts';
import { gradeRequestField, type HeaderSection, TOO_LARGE } from '../hpack/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';
import { closedFault, Session, type SessionOptions } from '../session/index.ts';
import { ClientFloods } from './client-floods.ts';
import { EarlyPriorities, readPriority } from './priority.ts';
import { headFlaw } from './request-rules.ts';
import { ANY_LENGTH, type RequestHandler, ServerStream, type ServerStreamHost } from './server-stream.ts';

/** Maximum streams that one read opens: what is behind them waits, so that other connections have their turn. */
const MAX_OPENED = 64;
/** A piece of at least this many bytes is copied if it is less than one part in `KEPT_PART` of its buffer. */
const COPIED_BYTES = 4_096;
const KEPT_PART = 4;
/** Changing the windows of this many streams takes about as long as opening one. */
const CHANGED_WINDOWS = 16;
/** How many streams that we reset are remembered, for each that may be open: their clients may not know it yet. */
const REMEMBERED_RESETS = 4;

/** The server's side of an HTTP/2 connection (RFC 9113), without its socket: bytes in, bytes out. */
export class ServerSession extends Session<ServerStream> implements ServerStreamHost {
  readonly #options: ServerSessionOptions;
  readonly #owner: ServerSessionOwner;
  readonly #floods = new ClientFloods();
  /** The last stream that the client opened, or passed over by opening a higher one. */
  #lastId = 0;
  /** The last stream that is served. A GOAWAY names it, and later streams are ignored. */
  #lastServed = 0;
  /** The streams that the client passed over last, up to but without the second. */
  #skippedFrom = 0;
  #skippedTo = 0;
  /** The last streams that were reset before their requests had ended; by the client: below 0. */
  readonly #resets: number[] = [];
  #resetAt = 0;
  /** The last stream that was refused before the client could know how many there may be. */
  #unawareTo = 0;
  #phase: 'open' | 'shutting down' | 'gone' = 'open';
  #early: EarlyPriorities | null = null;
  /** How many streams were opened in this turn of the event loop, or what takes as long. */
  #opened = 0;
  /** Bytes that wait for their turn, and where they begin. */
  #rest: Buffer | null = null;
  #restAt = 0;
  #hasRead = false;
  /** How many bytes of responses were written, without the frames around them. */
  #responseBytes = 0;
  /** How many bytes of bodies were used up, but not allowed again because the connection holds too much. */
  #withheld = 0;
  /** True if handlers hold parts of the bytes that are being read. */
  #areKept = false;
  readonly release = null;

  constructor(options: ServerSessionOptions, owner: ServerSessionOwner) {
    const settings: [number, number][] = [
      [Setting.MAX_CONCURRENT_STREAMS, options.maxStreams],
      [Setting.NO_RFC7540_PRIORITIES, 1],
    ];
    if (options.offersConnect) settings.push([Setting.ENABLE_CONNECT_PROTOCOL, 1]);
    super(options, { isServer: true, settings, grade: gradeRequestField }, () => owner.wake());
    this.#options = options;
    this.#owner = owner;
  }

  /** How many bytes of heads and bodies of responses were written. Nothing else that a client makes us write counts as taken by it. */
  get responseBytes(): number {
    return this.#responseBytes + this.sending.sentBytes;
  }

  /** True if bytes were read that wait for their turn: read no more, and call `readOn` in the next turn of the event loop. */
  get isBehind(): boolean {
    return this.#rest !== null;
  }

  /**
   * Reads the bytes up to `end`. Returns whether they may be overwritten, since nobody holds parts of them. Throws
   * Http2Fault; only `goAway`, `take` and `lose` may be called then.
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

  /** Reads on where a read stopped, to let other connections have their turn. Throws Http2Fault like `read`. */
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

  /** Says that the connection will close: streams that are already on their way are still served (RFC 9113, 6.8). */
  shutDown(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'shutting down';
    this.writer.goaway(MAX_31_BITS, ErrorCode.NO_ERROR);
    // Its acknowledgement shows that the client knows.
    this.sendPing();
  }

  /** Sends the last GOAWAY: streams above the last one that was looked at are ignored. */
  goAway(code: number): void {
    this.#phase = 'gone';
    this.writer.goaway(this.#lastServed, code);
  }

  /** Lets counts of what floods sink with time, and frees what an idle connection does not need. Call it at each sweep. */
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

  /** Lets the client send as much again, unless its connection holds too much: what comes later is not read then. */
  override used(bytes: number): void {
    this.#withheld += bytes;
    if (this.#withheld === 0 || this.#owner.isOverShare) return;
    super.used(this.#withheld);
    this.#withheld = 0;
  }

  override cancel(stream: ServerStream, code: number): void {
    // A request that was answered before its end is no fault.
    if (code !== ErrorCode.NO_ERROR && !stream.isSpared) this.#floods.reset();
    if (!stream.isReceived) this.#rememberReset(stream.id);
    super.cancel(stream, code);
  }

  override keep(bytes: Buffer): Buffer {
    // Each read has a buffer of its own. A slow upload must not keep alive what was read for others.
    const { length, buffer } = bytes;
    const isCopied = length >= COPIED_BYTES && KEPT_PART * length < buffer.byteLength;
    return isCopied ? Buffer.from(new Uint8Array(bytes).buffer) : super.keep(bytes);
  }

  override reset(id: number, code: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) this.#floods.controlFrame();
    else this.#floods.reset();
    if (stream?.isReceived === false) this.#rememberReset(-id);
    super.reset(id, code);
  }

  override settings(payload: Buffer): void {
    this.#floods.controlFrame();
    const { pieces } = this.sending;
    super.settings(payload);
    // DATA that a larger window releases must not count as sent: it would allow further control frames, and so endless SETTINGS.
    this.sending.pieces = pieces;
    this.#works(this.streams.size / CHANGED_WINDOWS);
  }

  override ping(payload: Buffer): void {
    this.#floods.controlFrame();
    super.ping(payload);
  }

  override pingAcknowledged(): void {
    // RFC 9113, 6.7 knows no error for an acknowledgement that was not asked for.
    if (this.awaited.pings === 0) {
      this.#floods.controlFrame();
      return;
    }
    super.pingAcknowledged();
    if (this.#phase === 'shutting down' && this.awaited.pings === 0) this.#owner.shutDownSeen();
  }

  override windowUpdate(id: number, increment: number): void {
    this.#floods.controlFrame();
    super.windowUpdate(id, increment);
  }

  goaway(_lastStream: number, code: number): void {
    this.#floods.controlFrame();
    this.#owner.goaway(code);
  }

  ignored(): void {
    this.#floods.controlFrame();
  }

  priorityUpdate(id: number, priority: string): void {
    this.#floods.controlFrame();
    const stream = this.streams.get(id);
    if (stream !== undefined)
      this.sending.reorder(stream, () => Object.assign(stream, readPriority(priority)));
    else if (id > this.#lastId) {
      this.#early ??= new EarlyPriorities(this.#options.maxStreams);
      this.#early.set(id, priority);
    }
  }

  protected section(id: number, section: HeaderSection, ends: boolean): void {
    if (id % 2 === 0) throw new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'a stream of an even number');
    if (id > this.#lastId) this.#open(id, section, ends);
    else if (id >= this.#skippedFrom && id < this.#skippedTo)
      throw new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'a stream below one that was opened');
    else this.receiving(id)?.onSection(section, ends);
  }

  protected settingsRead(): void {
    this.#owner.settingsRead();
  }

  protected streamOf(id: number): ServerStream | undefined {
    if (id % 2 === 0 || id > this.#lastId)
      throw new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'a frame of an idle stream');
    return this.streams.get(id);
  }

  /** Returns the stream of a frame with content; undefined if it is closed and its client cannot know that yet. */
  protected override receiving(id: number): ServerStream | undefined {
    const stream = super.receiving(id);
    if (stream !== undefined) return stream;
    this.#floods.controlFrame();
    // RFC 9113, 5.1: the stream alone is at fault. gRPC for Java on OkHttp sends what was in progress.
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
    // RFC 9113, 6.5.3: until the client has acknowledged our SETTINGS, it may not know that there is a maximum.
    if (this.awaited.settings > 0 && code === ErrorCode.REFUSED_STREAM) {
      this.#floods.controlFrame();
      this.#unawareTo = id;
    } else this.#floods.refused();
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
    // Keep the same object if nothing changes: it tells that the section repeats an earlier one.
    const judged = flaw === section.flaw ? section : { ...section, flaw };
    stream.begin(this.#owner.request(stream, judged, ends));
  }

  #rememberReset(id: number): void {
    this.#resets[this.#resetAt++ % (REMEMBERED_RESETS * this.#options.maxStreams)] = id;
  }
}

/** The windows and bounds of a session. */
export interface ServerSessionOptions extends SessionOptions {
  /** Maximum streams at the same time. */
  readonly maxStreams: number;
  /** Whether extended CONNECT is offered (RFC 8441). */
  readonly offersConnect: boolean;
  /** Maximum bytes that wait to be sent. While there are more, new streams are refused. */
  readonly maxUnsent: number;
}

/** Holds the connection of a session. */
export interface ServerSessionOwner {
  /** True while more is held for the connection's client than its share: no stream is opened, and no body is read on. */
  readonly isOverShare: boolean;
  /** Called when there is something to take and write by the end of this turn of the event loop. */
  wake(): void;
  /**
   * Called when a request has arrived. Its pseudo-fields come first. A section with a flaw belongs to a malformed request: answer
   * it 400; its stream is then reset. Only one that is TOO_LARGE is not malformed. It may be answered within the call.
   *
   * @param ends true if the request has no body
   */
  request(stream: ServerStream, section: HeaderSection, ends: boolean): RequestHandler;
  /** Called when SETTINGS of the client have been read, the first ones or changes. */
  settingsRead(): void;
  /** Called when the client has seen that the connection will close: send the last GOAWAY. */
  shutDownSeen(): void;
  /** Called when the client has sent a GOAWAY with this code. */
  goaway(code: number): void;
}
