import type { ClientSessionOptions } from 'node:http2';
import type { UpstreamOptions } from '../options.ts';

/** The most that one stream may send, and that is held in memory for it, while its client does not read. */
const STREAM_WINDOW_BYTES = 131_072;
/** The same for all streams of a connection. Node returns it as bytes arrive, so a slow client does not block the others. */
export const WINDOW_BYTES = 8_388_608;
/** Fields of a header section, `:status` among them. A server that sends more only makes work. */
const MAX_FIELDS = 501;
/** Invalid frames before the connection is closed. */
const MAX_INVALID_FRAMES = 100;

/** Options that Node documents and its types lack. */
interface NodeOptions extends ClientSessionOptions {
  readonly maxSessionInvalidFrames: number;
  readonly strictSingleValueFields: boolean;
}

/** The terms on which a connection to an upstream is held. */
export function sessionOptions({ maxHeadBytes }: UpstreamOptions): NodeOptions {
  return {
    settings: {
      enablePush: false,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: maxHeadBytes,
    },
    maxHeaderListPairs: MAX_FIELDS,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    // A field that a client repeats is passed on unchanged.
    strictSingleValueFields: false,
  };
}
