import type { ServerOptions } from 'node:http2';
import type { Http2Model } from '../../config/index.ts';

/** Frames that nghttp2 finds invalid, and empty DATA, until the connection is closed. */
const MAX_INVALID_FRAMES = 100;
/** What a field counts beyond its bytes (RFC 9113, 6.5.2). */
const FIELD_OVERHEAD_BYTES = 32;

/** The caps of requests that hold for every protocol. */
export interface HeadCaps {
  readonly headBytes: number;
  readonly fields: number;
}

/** What nghttp2 and Node hold a client to. Heads up to twice the caps come through to the gateway, which answers 431. */
export function sessionOptions(model: Http2Model, { headBytes, fields }: HeadCaps): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: model.maxStreams,
      initialWindowSize: model.streamWindowBytes,
      maxHeaderListSize: 2 * headBytes + 2 * FIELD_OVERHEAD_BYTES * fields,
      // RFC 8441: no WebSocket over HTTP/2.
      enableConnectProtocol: false,
    },
    maxHeaderListPairs: 2 * fields,
    // In Node's megabytes.
    maxSessionMemory: Math.ceil(model.sessionMemoryBytes / 1_000_000),
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    // An upstream may send a field twice that Node calls single; it passes as it came.
    strictSingleValueFields: false,
  };
}
