import { MAX_31_BITS, MAX_PAYLOAD, SettingId } from '../frames/index.ts';
import { sectionBytes } from '../hpack/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';
import { FIRST_WINDOW } from './flow-control.ts';

/** Maximum settings in a frame, as in nghttp2. */
const MAX_ENTRIES = 32;
const ENTRY_BYTES = 6;
const MAX_FRAME_SIZE = 2 ** 24 - 1;

/** The settings of the peer (RFC 9113, 6.5.2). */
export class PeerSettings {
  /** Maximum concurrent streams. */
  maxStreams = Number.POSITIVE_INFINITY;
  /** The window of each new stream, in bytes. */
  window = FIRST_WINDOW;
  /** Size of the peer's decoding table, in bytes. */
  tableBytes = 4_096;
  /** Largest header section, in bytes with 32 more per field. */
  maxSectionBytes = Number.POSITIVE_INFINITY;
  readonly #mayAllowPush: boolean;
  #takesConnect = 0;
  /** SETTINGS_NO_RFC7540_PRIORITIES, which only the first frame may set (RFC 9218, 2.1). */
  #ignoresPriorities = 0;
  #isFirst = true;

  /** @param mayAllowPush true for a client (RFC 9113, 6.5.2) */
  constructor(mayAllowPush: boolean) {
    this.#mayAllowPush = mayAllowPush;
  }

  /** Reads the payload of a SETTINGS frame. Throws Http2Fault. */
  read(payload: Buffer): void {
    if (payload.length > MAX_ENTRIES * ENTRY_BYTES)
      throw new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, 'SETTINGS with too many entries', 'control_frames');
    for (let at = 0; at < payload.length; at += ENTRY_BYTES)
      this.#read(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#isFirst = false;
  }

  /** Whether the peer accepts a header section of this size. */
  accepts(fields: readonly string[]): boolean {
    return this.maxSectionBytes === Number.POSITIVE_INFINITY || sectionBytes(fields) <= this.maxSectionBytes;
  }

  #read(id: number, value: number): void {
    switch (id) {
      case SettingId.HEADER_TABLE_SIZE:
        this.tableBytes = value;
        break;
      case SettingId.ENABLE_PUSH:
        allow(value === 0 || (value === 1 && this.#mayAllowPush));
        break;
      case SettingId.MAX_CONCURRENT_STREAMS:
        this.maxStreams = value;
        break;
      case SettingId.INITIAL_WINDOW_SIZE:
        allow(value <= MAX_31_BITS, ErrorCode.FLOW_CONTROL_ERROR);
        this.window = value;
        break;
      case SettingId.MAX_FRAME_SIZE:
        // Our frames are no larger than the smallest maximum that it may set.
        allow(value >= MAX_PAYLOAD && value <= MAX_FRAME_SIZE);
        break;
      case SettingId.MAX_HEADER_LIST_SIZE:
        this.maxSectionBytes = value;
        break;
      case SettingId.ENABLE_CONNECT_PROTOCOL:
        // RFC 8441, 3.
        allow(value <= 1 && value >= this.#takesConnect);
        this.#takesConnect = value;
        break;
      case SettingId.NO_RFC7540_PRIORITIES:
        allow(value <= 1 && (this.#isFirst || value === this.#ignoresPriorities));
        this.#ignoresPriorities = value;
        break;
      default:
    }
  }
}

function allow(isAllowed: boolean, code: number = ErrorCode.PROTOCOL_ERROR): void {
  if (!isAllowed) throw new Http2Fault(code, 'SETTINGS with a value that is not allowed');
}
