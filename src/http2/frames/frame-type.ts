/** RFC 9113, 6. */
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
} as const;

export const Flag = {
  NONE: 0x0,
  END_STREAM: 0x1,
  ACK: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
  ENABLE_CONNECT_PROTOCOL: 0x8,
  NO_RFC7540_PRIORITIES: 0x9,
} as const;

/** The frame header. */
export const HEAD_BYTES = 9;
/** The largest payload that everyone takes (RFC 9113, 4.2). We take no larger one. */
export const MAX_PAYLOAD = 16_384;
/** The largest window, and the largest stream identifier. */
export const MAX_31_BITS = 0x7fffffff;
