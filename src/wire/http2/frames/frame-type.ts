/** Types of frames (RFC 9113, 6). */
export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
  /** RFC 9218, 7.1. */
  PRIORITY_UPDATE: 0x10,
} as const;

/** The first bytes of a client, before its first frame (RFC 9113, 3.4). No HTTP/1.1 request begins like this. */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const Flag = {
  NONE: 0x0,
  END_STREAM: 0x1,
  ACK: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

export const SettingId = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
  ENABLE_CONNECT_PROTOCOL: 0x8,
  NO_RFC7540_PRIORITIES: 0x9,
} as const;

export const HEAD_BYTES = 9;
/** The largest payload that every peer accepts (RFC 9113, 4.2). We accept no larger one. */
export const MAX_PAYLOAD = 16_384;
/** The largest window, and the largest stream identifier. */
export const MAX_31_BITS = 0x7fffffff;

/** Receives the frames of a connection. Bytes are views that change after the call. */
export interface FrameSink {
  /** Takes a part of a DATA frame. `flowBytes` counts padding as well. */
  data(stream: number, bytes: Buffer, flowBytes: number, ends: boolean): void;
  headers(stream: number, block: Buffer, ends: boolean): void;
  reset(stream: number, code: number): void;
  /** Takes the payload of SETTINGS: entries of 6 bytes. */
  settings(payload: Buffer): void;
  settingsAcknowledged(): void;
  ping(payload: Buffer): void;
  pingAcknowledged(): void;
  goaway(lastStream: number, code: number): void;
  windowUpdate(stream: number, increment: number): void;
  /** Takes a PRIORITY_UPDATE, with the value of its priority field. */
  priorityUpdate(stream: number, priority: string): void;
  /** Called for a frame without effect: PRIORITY, which is deprecated, or one of an unknown type. */
  ignored(): void;
}
