import type { ClientSessionOptions } from '../../http2/index.ts';
import type { UpstreamOptions } from '../transport.ts';

/** The most that one stream may send, and that is held in memory for it, while its client does not read. */
const STREAM_WINDOW_BYTES = 131_072;
/** The same for all streams of a connection. It is returned as bytes arrive, so a slow client does not block the others. */
const WINDOW_BYTES = 8_388_608;
/** Fields of a header section, `:status` among them. A server that sends more only makes work. */
const MAX_FIELDS = 501;

/** The terms on which a connection to an upstream is held. */
export function upstreamSessionOptions({ maxHeadBytes }: UpstreamOptions): ClientSessionOptions {
  return {
    streamWindow: STREAM_WINDOW_BYTES,
    connectionWindow: WINDOW_BYTES,
    maxBytes: maxHeadBytes,
    maxFields: MAX_FIELDS,
  };
}
