import type { ServerOptions } from 'node:http2';

/** Streams that a client may have open at a time. */
const MAX_STREAMS = 128;
/** What a client may send on a stream before it is read: RFC 9113, 6.9.2. */
const STREAM_WINDOW_BYTES = 65_535;

/** What nghttp2 and Node hold a client to. */
export function sessionOptions(headBytes: number): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: MAX_STREAMS,
      initialWindowSize: STREAM_WINDOW_BYTES,
      // Past the gateway's own cap, which answers 431. Each field counts 32 bytes more (RFC 9113, 6.5.2).
      maxHeaderListSize: 4 * headBytes,
      enableConnectProtocol: false,
    },
    maxHeaderListPairs: 2_048,
    // An upstream may send a field twice that Node calls single; it passes as it came.
    strictSingleValueFields: false,
  };
}
