import { NO_NAMES } from '../../core/index.ts';
import { Flag, FrameReader, type FrameSink, FrameWriter, MAX_31_BITS, Setting } from '../frames/index.ts';
import { gradeResponseField, HeaderDecoder, HeaderEncoder, type SectionBounds } from '../hpack/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';
import { ClientStream, type StreamEnd, type StreamHandler, type StreamHost } from './client-stream.ts';
import { FIRST_WINDOW, ReceiveWindow, Sending, ServerSettings } from './flow-control.ts';
import { FloodCount, StreamTable } from './stream-table.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const PING_PAYLOAD = Buffer.alloc(8);

/** The client's side of an HTTP/2 connection (RFC 9113), without its socket: bytes in, bytes out. */
export class ClientSession implements FrameSink, StreamHost {
  readonly #options: ClientSessionOptions;
  readonly #owner: ClientSessionOwner;
  readonly #writer: FrameWriter;
  readonly #reader = new FrameReader(this);
  readonly #encoder = new HeaderEncoder();
  readonly #decoder: HeaderDecoder;
  readonly #streams = new StreamTable<ClientStream>();
  readonly #sending: Sending;
  readonly #window: ReceiveWindow;
  readonly #settings = new ServerSettings();
  readonly #floods = new FloodCount();
  #nextId = 1;
  readonly #awaited = new AwaitedAcknowledgements();
  /** True if handlers hold parts of the bytes that are being read. */
  #areKept = false;
  /** The last stream that a GOAWAY named. */
  #lastStream = MAX_31_BITS;

  constructor(options: ClientSessionOptions, owner: ClientSessionOwner) {
    this.#options = options;
    this.#owner = owner;
    this.#decoder = new HeaderDecoder(options, gradeResponseField);
    this.#window = new ReceiveWindow(options.connectionWindow);
    this.#writer = new FrameWriter(() => owner.wake());
    this.#sending = new Sending(this.#writer);
    this.#writer.bytes(PREFACE);
    this.#writer.settings([
      [Setting.ENABLE_PUSH, 0],
      [Setting.INITIAL_WINDOW_SIZE, options.streamWindow],
      [Setting.MAX_HEADER_LIST_SIZE, options.maxBytes],
    ]);
    this.#writer.windowUpdate(0, options.connectionWindow - FIRST_WINDOW);
  }

  /** How many streams the server allows at the same time. */
  get maxStreams(): number {
    return this.#settings.maxStreams;
  }

  /** Whether the server takes a header section of this size: names and values in turn. */
  accepts(fields: readonly string[]): boolean {
    return this.#settings.accepts(fields);
  }

  /**
   * Reads the bytes up to `end`. Returns whether they may be overwritten, since no handler holds parts of them. Throws
   * Http2Fault; only `goAway` and `lose` may be called then.
   */
  read(bytes: Buffer, end: number): boolean {
    this.#areKept = false;
    this.#reader.read(bytes, end);
    return !this.#areKept;
  }

  /** The number of bytes that `take` would return. */
  get unwritten(): number {
    return this.#writer.length;
  }

  /**
   * Returns what is to be written. The next frame overwrites the bytes, unless `giveAway` was called: then they are the caller's.
   */
  take(): Buffer {
    this.#floods.acknowledgementsLeft();
    return this.#writer.take();
  }

  giveAway(): void {
    this.#writer.giveAway();
  }

  /** Sets whether the socket takes more. While it does not, no DATA is sent. */
  set writable(writable: boolean) {
    this.#sending.open = writable;
  }

  /** Opens a stream with a header section: names and values in turn. */
  request(fields: readonly string[], handler: StreamHandler, endsAtOnce: boolean, neverIndexed = NO_NAMES) {
    const { window: sendWindow } = this.#settings;
    const terms = { sendWindow, receiveWindow: this.#options.streamWindow, endsAtOnce };
    const stream = new ClientStream(this.#nextId, this, handler, terms);
    this.#nextId += 2;
    this.#streams.add(stream);
    this.#writer.headers(stream.id, this.#encoder.encode(fields, neverIndexed), endsAtOnce);
    return stream;
  }

  sendPing(): void {
    this.#awaited.pingSent();
    this.#writer.ping(PING_PAYLOAD, Flag.NONE);
  }

  goAway(code: number): void {
    this.#writer.goaway(code);
  }

  /** Closes all streams: the connection is gone. */
  lose(): void {
    for (const stream of this.#streams.all()) this.#close(stream, { how: 'lost' });
  }

  send(stream: ClientStream): void {
    this.#sending.send(stream);
  }

  endData(stream: ClientStream): void {
    this.#writer.endData(stream.id);
  }

  cancel(stream: ClientStream, code: number): void {
    this.#writer.reset(stream.id, code);
    this.over(stream);
  }

  openWindow(stream: ClientStream, bytes: number): void {
    this.#writer.windowUpdate(stream.id, bytes);
  }

  keep(bytes: Buffer): Buffer {
    this.#areKept = true;
    return bytes;
  }

  over(stream: ClientStream): void {
    this.#streams.delete(stream);
    this.#sending.forget(stream);
  }

  data(id: number, bytes: Buffer, flowBytes: number, ends: boolean): void {
    // Reopen the window at once, so that a response that its client does not read blocks no other.
    this.#window.take(flowBytes);
    const unused = this.#window.reopen();
    if (unused > 0) this.#writer.windowUpdate(0, unused);
    if (bytes.length === 0 && !ends) this.#floods.emptyData();
    else this.#floods.content();
    this.#receiving(id)?.onData(bytes, flowBytes, ends);
  }

  headers(id: number, block: Buffer, ends: boolean): void {
    // Decode it even if its stream is gone: the table follows every block.
    const section = this.#decoder.decode(block);
    this.#floods.content();
    this.#receiving(id)?.onSection(section, ends);
  }

  reset(id: number, code: number): void {
    const stream = this.#streamOf(id);
    if (stream !== undefined) this.#close(stream, { how: 'reset', code });
  }

  settings(payload: Buffer): void {
    const { window } = this.#settings;
    this.#settings.read(payload);
    this.#encoder.limitTable(this.#settings.tableBytes);
    this.#floods.acknowledgement();
    this.#writer.acknowledgeSettings();
    const change = this.#settings.window - window;
    if (change !== 0) this.#sending.changeWindows(this.#streams.all(), change);
    this.#owner.settingsRead();
  }

  settingsAcknowledged(): void {
    this.#awaited.settingsAcknowledged();
  }

  ping(payload: Buffer): void {
    this.#floods.acknowledgement();
    this.#writer.ping(payload, Flag.ACK);
  }

  pingAcknowledged(): void {
    this.#awaited.pingAcknowledged();
  }

  goaway(lastStream: number, code: number): void {
    // RFC 9113, 6.8: the last stream never goes up. Even numbers would be the server's own streams.
    if (lastStream > this.#lastStream || (lastStream > 0 && lastStream % 2 === 0))
      throw new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'GOAWAY with a last stream that cannot be');
    this.#lastStream = lastStream;
    // Tell the owner first, because calls that fail now may be sent again at once.
    this.#owner.goaway(lastStream, code);
    for (const stream of this.#streams.all())
      if (stream.id > lastStream) this.#close(stream, { how: 'unprocessed', code });
  }

  windowUpdate(id: number, increment: number): void {
    if (id === 0) {
      this.#sending.widen(increment);
      return;
    }
    const stream = this.#streamOf(id);
    if (stream === undefined) return;
    stream.sendWindow += increment;
    if (stream.sendWindow > MAX_31_BITS)
      stream.fail('a window of the stream that overflows', ErrorCode.FLOW_CONTROL_ERROR);
    else this.#sending.retry(stream);
  }

  /** Returns the stream of a frame; undefined if it is closed, so that its frames are ignored (RFC 9113, 5.1). */
  #streamOf(id: number): ClientStream | undefined {
    if (id % 2 === 0 || id >= this.#nextId)
      throw new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'a frame of an idle stream');
    return this.#streams.get(id);
  }

  #receiving(id: number): ClientStream | undefined {
    const stream = this.#streamOf(id);
    if (stream?.isAnswered === true)
      throw new Http2Fault(ErrorCode.STREAM_CLOSED, 'a frame behind the end of its stream');
    return stream;
  }

  #close(stream: ClientStream, end: StreamEnd): void {
    this.over(stream);
    stream.close(end);
  }
}

/** The windows in bytes, and the bounds of a response's header section. */
export interface ClientSessionOptions extends SectionBounds {
  readonly streamWindow: number;
  readonly connectionWindow: number;
}

/** Holds the connection of a session. */
export interface ClientSessionOwner {
  /** Called when there is something to take and write by the end of this turn of the event loop. */
  wake(): void;
  /** Called when SETTINGS of the server have been read, the first ones or changes. */
  settingsRead(): void;
  /** Called when a GOAWAY has come: open no more streams. Those above its last one are about to be closed. */
  goaway(lastStream: number, code: number): void;
}

/** Counts our SETTINGS and PINGs that have not been acknowledged. Throws Http2Fault for an acknowledgement of nothing. */
class AwaitedAcknowledgements {
  /** One at the beginning: the SETTINGS of the preface. */
  #settings = 1;
  #pings = 0;

  pingSent(): void {
    this.#pings++;
  }

  settingsAcknowledged(): void {
    if (this.#settings-- === 0) throw unsolicited();
  }

  pingAcknowledged(): void {
    if (this.#pings-- === 0) throw unsolicited();
  }
}

function unsolicited(): Http2Fault {
  return new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'an acknowledgement of nothing');
}
