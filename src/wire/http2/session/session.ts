import type { Release } from '../../../core/index.ts';
import type { FrameSink } from '../frames/index.ts';
import { Flag, FrameReader, FrameWriter, MAX_31_BITS, PREFACE, SettingId } from '../frames/index.ts';
import type { FieldGrade, HeaderSection, SectionBounds } from '../hpack/index.ts';
import { HeaderDecoder, HeaderEncoder } from '../hpack/index.ts';
import { ErrorCode, Http2Fault, protocolFault, tooMany } from '../http2-fault.ts';
import { FIRST_WINDOW, ReceiveWindow, Sending } from './flow-control.ts';
import { PeerSettings } from './peer-settings.ts';
import type { Stream, StreamEnd, StreamHost } from './stream.ts';
import { StreamTable } from './stream-table.ts';

/**
 * Pieces from this size on are passed on without a copy. Smaller ones are copied, or they would keep alive the large buffer
 * around them.
 */
const KEPT_BYTES = 4_096;
const PING_PAYLOAD = Buffer.alloc(8);
/** Maximum acknowledgements of SETTINGS and PING waiting to be written, as in nghttp2 (CVE-2019-9512, CVE-2019-9515). */
const MAX_ACKNOWLEDGEMENTS = 1_000;
/**
 * Maximum consecutive DATA frames that are empty or only padding and do not end their stream (CVE-2019-9518). Some servers send
 * one when an application flushes nothing.
 */
const MAX_EMPTY_DATA = 100;

/** The windows in bytes, and the bounds of the peer's header sections. */
export interface SessionOptions extends SectionBounds {
  readonly streamWindow: number;
  readonly connectionWindow: number;
}

/** The differences between the two sides of a connection. */
interface SessionSide {
  readonly isServer: boolean;
  /** Our SETTINGS in addition to those of every session. */
  readonly settings: readonly (readonly [id: number, value: number])[];
  readonly grade: (name: string, value: string) => FieldGrade;
}

/** One side of an HTTP/2 connection (RFC 9113), without its socket: bytes in, bytes out. */
export abstract class Session<S extends Stream> implements FrameSink, StreamHost {
  readonly streamWindow: number;
  mostReceived: number;
  protected readonly writer: FrameWriter;
  protected readonly reader: FrameReader;
  protected readonly encoder = new HeaderEncoder();
  protected readonly decoder: HeaderDecoder;
  protected readonly streams = new StreamTable<S>();
  protected readonly sending: Sending;
  protected readonly peer: PeerSettings;
  readonly #wake: () => void;
  readonly #window: ReceiveWindow;
  /** Our SETTINGS and PINGs that have not been acknowledged: at first the SETTINGS of the preface. */
  protected awaitedSettings = 1;
  protected awaitedPings = 0;
  /** Acknowledgements that have to be written, and DATA frames without content in a row. */
  #acknowledgements = 0;
  #emptyData = 0;

  /** @param wake called when there are bytes to take and write by the end of this turn of the event loop */
  constructor(options: SessionOptions, side: SessionSide, wake: () => void) {
    this.streamWindow = options.streamWindow;
    // RFC 9113, 6.9.3: the peer may not know our SETTINGS yet.
    this.mostReceived = Math.max(options.streamWindow, FIRST_WINDOW);
    this.#wake = wake;
    this.#window = new ReceiveWindow(options.connectionWindow);
    this.decoder = new HeaderDecoder(options, side.grade);
    this.peer = new PeerSettings(side.isServer);
    this.reader = side.isServer ? new FrameReader(this, PREFACE, options.maxBytes) : new FrameReader(this);
    this.writer = new FrameWriter(wake);
    this.sending = new Sending(this.writer);
    if (!side.isServer) this.writer.bytes(PREFACE);
    this.writer.settings([
      ...side.settings,
      [SettingId.INITIAL_WINDOW_SIZE, options.streamWindow],
      [SettingId.MAX_HEADER_LIST_SIZE, options.maxBytes],
    ]);
    this.writer.windowUpdate(0, options.connectionWindow - FIRST_WINDOW);
  }

  get openStreams(): number {
    return this.streams.size;
  }

  /** The number of bytes that `take` would return. */
  get unwritten(): number {
    return this.writer.length;
  }

  /** Bytes of bodies that wait for one of the peer's windows, or for the socket. */
  get waiting(): number {
    return this.sending.waiting;
  }

  /** True if a body waits for something other than its own stream's window. */
  get isBlocked(): boolean {
    return this.sending.isBlocked;
  }

  /** Bytes received whose windows are not reopened, since their handlers have not taken them yet. */
  get held(): number {
    return this.#window.held;
  }

  /** Returns the bytes to write. The next frame overwrites them, unless `lend` was called: then they remain until `giveBack`. */
  take(): Buffer {
    this.#acknowledgements = 0;
    this.sending.sendReady();
    const bytes = this.writer.take();
    // More was ready than fits one write.
    if (this.sending.canGoOn) this.#wake();
    return bytes;
  }

  lend(): void {
    this.writer.lend();
  }

  giveBack(): void {
    this.writer.giveBack();
  }

  /** Sets whether the socket accepts more. While it does not, no DATA is sent. */
  set writable(writable: boolean) {
    this.sending.open = writable;
  }

  sendPing(): void {
    this.awaitedPings++;
    this.writer.ping(PING_PAYLOAD, Flag.NONE);
  }

  /** Closes all streams because the connection is lost. */
  lose(): void {
    for (const stream of this.streams.all()) this.close(stream, { how: 'lost' });
  }

  send(stream: Stream, bytes: Buffer): boolean {
    return this.sending.send(stream, bytes);
  }

  endData(stream: Stream): void {
    this.writer.endData(stream.id);
  }

  cancel(stream: Stream, code: number): void {
    this.writer.reset(stream.id, code);
    this.over(stream);
  }

  openWindow(stream: Stream, bytes: number): void {
    this.writer.windowUpdate(stream.id, bytes);
  }

  used(bytes: number): void {
    const increment = this.#window.use(bytes);
    if (increment > 0) this.writer.windowUpdate(0, increment);
  }

  keep(bytes: Buffer): Buffer {
    if (bytes.length < KEPT_BYTES) return Buffer.from(bytes);
    this.keepRead();
    return bytes;
  }

  /** Prevents the bytes being read from being overwritten. */
  protected abstract keepRead(): void;
  abstract readonly release: Release | null;

  over(stream: Stream): void {
    this.streams.delete(stream.id);
    this.sending.forget(stream);
  }

  data(id: number, bytes: Buffer, flowBytes: number, ends: boolean): void {
    this.#window.take(flowBytes);
    this.#emptyData = bytes.length === 0 && !ends ? this.#emptyData + 1 : 0;
    if (this.#emptyData > MAX_EMPTY_DATA) throw tooMany('empty DATA frames', 'invalid_frames');
    const stream = this.receiving(id);
    if (stream === undefined) this.used(flowBytes);
    else stream.onData(bytes, flowBytes, ends);
  }

  headers(id: number, block: Buffer, ends: boolean): void {
    // Decode it even if its stream is closed: every block may change the table.
    const section = this.decoder.decode(block);
    this.#emptyData = 0;
    this.section(id, section, ends);
  }

  reset(id: number, code: number): void {
    const stream = this.streamOf(id);
    if (stream !== undefined) this.close(stream, { how: 'reset', code });
  }

  settings(payload: Buffer): void {
    const { window } = this.peer;
    this.peer.read(payload);
    this.encoder.limitTable(this.peer.tableBytes);
    this.#acknowledge();
    this.writer.acknowledgeSettings();
    const change = this.peer.window - window;
    if (change !== 0) this.sending.changeWindows(this.streams.all(), change);
    this.settingsRead();
  }

  settingsAcknowledged(): void {
    if (this.awaitedSettings-- === 0) throw protocolFault('an acknowledgement of nothing');
    this.mostReceived = this.streamWindow;
  }

  ping(payload: Buffer): void {
    this.#acknowledge();
    this.writer.ping(payload, Flag.ACK);
  }

  pingAcknowledged(): void {
    if (this.awaitedPings-- === 0) throw protocolFault('an acknowledgement of nothing');
  }

  windowUpdate(id: number, increment: number): void {
    if (id === 0) {
      this.sending.widen(increment);
      return;
    }
    const stream = this.streamOf(id);
    if (stream === undefined) return;
    stream.sendWindow += increment;
    if (stream.sendWindow > MAX_31_BITS)
      stream.fail('an overflow of a stream window', ErrorCode.FLOW_CONTROL_ERROR);
    else this.sending.retry(stream);
  }

  abstract goaway(lastStream: number, code: number): void;
  abstract priorityUpdate(stream: number, priority: string): void;
  abstract ignored(): void;

  /**
   * Returns the stream of a frame; undefined if it is closed, so that its frames are ignored (RFC 9113, 5.1). Throws Http2Fault.
   */
  protected abstract streamOf(id: number): S | undefined;

  protected abstract section(id: number, section: HeaderSection, ends: boolean): void;

  protected abstract settingsRead(): void;

  /** Returns the stream of a frame with content. */
  protected receiving(id: number): S | undefined {
    const stream = this.streamOf(id);
    if (stream?.isReceived === true) throw closedFault();
    return stream;
  }

  /** Counts an acknowledgement that has to be written. */
  #acknowledge(): void {
    if (++this.#acknowledgements > MAX_ACKNOWLEDGEMENTS)
      throw tooMany('SETTINGS or PING frames', 'control_frames');
  }

  protected close(stream: S, end: StreamEnd): void {
    this.over(stream);
    stream.close(end);
  }
}

export function closedFault(): Http2Fault {
  return new Http2Fault(ErrorCode.STREAM_CLOSED, 'a frame after the end of its stream');
}
