import { type LendingBytes, NO_NAMES, type Release } from '../../../core/index.ts';
import { MAX_31_BITS, SettingId } from '../frames/index.ts';
import { gradeResponseField, type HeaderSection } from '../hpack/index.ts';
import { protocolFault } from '../http2-fault.ts';
import { Session, type SessionOptions, type StreamHandler } from '../session/index.ts';
import { ClientStream } from './client-stream.ts';

/** The client's side of an HTTP/2 connection (RFC 9113), without its socket: bytes in, bytes out. */
export class ClientSession extends Session<ClientStream> {
  readonly #owner: ClientSessionOwner;
  #reading: LendingBytes | null = null;
  #nextId = 1;
  /** The last stream that a GOAWAY named. */
  #lastStream = MAX_31_BITS;

  constructor(options: SessionOptions, owner: ClientSessionOwner) {
    const side = {
      isServer: false,
      settings: [[SettingId.ENABLE_PUSH, 0]],
      grade: gradeResponseField,
    } as const;
    super(options, side, () => owner.wake());
    this.#owner = owner;
  }

  /** How many streams the server allows at the same time. */
  get maxStreams(): number {
    return this.peer.maxStreams;
  }

  /** Whether the server accepts a header section of this size: names and values in turn. */
  accepts(fields: readonly string[]): boolean {
    return this.peer.accepts(fields);
  }

  /**
   * Reads a part of these bytes, which handlers may keep. Throws Http2Fault; after that, only `goAway` and `lose` may be called.
   */
  read(source: LendingBytes, from: number, to: number): void {
    this.#reading = source;
    this.reader.read(source.bytes, from, to);
    this.#reading = null;
  }

  get release(): Release | null {
    return this.#reading?.release ?? null;
  }

  protected keepRead(): void {
    this.#reading?.keep();
  }

  /** Opens a stream with a header section: names and values in turn. */
  request(fields: readonly string[], handler: StreamHandler, endsAtOnce: boolean, neverIndexed = NO_NAMES) {
    const stream = new ClientStream(this.#nextId, this, handler, this.peer.window, endsAtOnce);
    this.#nextId += 2;
    this.streams.add(stream);
    this.writer.headers(stream.id, this.encoder.encode(fields, neverIndexed), endsAtOnce);
    return stream;
  }

  goAway(code: number): void {
    this.writer.goaway(0, code);
  }

  override data(id: number, bytes: Buffer, flowBytes: number, ends: boolean): void {
    // Reopen the window at once, so that a response whose client does not read blocks no other.
    super.used(flowBytes);
    super.data(id, bytes, flowBytes, ends);
  }

  override used(): void {}

  goaway(lastStream: number, code: number): void {
    // RFC 9113, 6.8: the last stream never increases. Even numbers would be the server's own streams.
    if (lastStream > this.#lastStream || (lastStream > 0 && lastStream % 2 === 0))
      throw protocolFault('GOAWAY with an invalid last stream id');
    this.#lastStream = lastStream;
    // Notify the owner first, because calls that fail now may be sent again at once.
    this.#owner.goaway(lastStream, code);
    for (const stream of this.streams.all())
      if (stream.id > lastStream) this.close(stream, { how: 'unprocessed', code });
  }

  /** Ignores it: only clients send priorities. */
  priorityUpdate(): void {}

  ignored(): void {}

  protected section(id: number, section: HeaderSection, ends: boolean): void {
    this.receiving(id)?.onSection(section, ends);
  }

  protected settingsRead(): void {
    this.#owner.settingsRead();
  }

  protected streamOf(id: number): ClientStream | undefined {
    if (id % 2 === 0 || id >= this.#nextId) throw protocolFault('a frame of an idle stream');
    return this.streams.get(id);
  }
}

export interface ClientSessionOwner {
  /** Called when there are bytes to take and write by the end of this turn of the event loop. */
  wake(): void;
  /** Called when SETTINGS of the server were read, the first ones or changes. */
  settingsRead(): void;
  /** Called when a GOAWAY arrives: open no more streams. Those above its last one are about to be closed. */
  goaway(lastStream: number, code: number): void;
}
