import type { ClientSessionOptions } from 'node:http2';
import type { UpstreamOptions } from '../options.ts';

/** What one stream may bring while its client does not read; the most that is held in memory for it. */
const STREAM_WINDOW_BYTES = 131_072;
/** What all streams of a connection may bring at once. Node gives it back as bytes come, so a slow client holds up no other. */
export const WINDOW_BYTES = 8_388_608;
/** Fields of a header section, `:status` among them. A server that sends more only makes work. */
const MAX_FIELDS = 501;
/** Frames without meaning before the connection is closed. */
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
    // A field that a client repeats goes on as it came.
    strictSingleValueFields: false,
  };
}
