import { type ClientHttp2Stream, constants } from 'node:http2';
import type { UpstreamFailure } from '../transport.ts';

/** What is known of the connection of a stream that closed. */
export interface SessionFate {
  /** Why the connection is lost; null while it is not. */
  readonly broken: Error | null;
  /** It had carried other requests, and the upstream closed it without GOAWAY, perhaps as idle. */
  readonly closedUnawares: boolean;
  /** Streams above this one were not processed: its GOAWAY said so. */
  readonly lastStreamId: number;
}

/** The codes for a protocol violation by the other side (RFC 9113, 7). */
const OFFENCES: ReadonlySet<number> = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
  constants.NGHTTP2_ENHANCE_YOUR_CALM,
  constants.NGHTTP2_HTTP_1_1_REQUIRED,
]);

/** How a stream closed before its response was complete. */
export function streamFailure(
  stream: ClientHttp2Stream,
  session: SessionFate,
  error: Error | null,
): Omit<UpstreamFailure, 'responseBegun'> {
  const { id, rstCode } = stream;
  // RFC 9113, 8.7: the request was not processed, whatever its method.
  const refused =
    id === undefined || id > session.lastStreamId || rstCode === constants.NGHTTP2_REFUSED_STREAM;
  const cause = session.broken ?? error ?? new Error(`the upstream closed the stream with code ${rstCode}`);
  const resetCode = session.broken === null && !refused ? rstCode : null;
  if (refused) return { kind: 'refused', cause, onReusedConnection: false, resetCode };
  const brokeRules = isFoundByNode(cause) || (resetCode !== null && OFFENCES.has(resetCode));
  if (brokeRules) return { kind: 'malformed', cause, onReusedConnection: false, resetCode };
  return { kind: 'reset', cause, onReusedConnection: session.closedUnawares, resetCode };
}

/** Whether the connection is lost because nghttp2, inside Node, received invalid frames. */
function isFoundByNode(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_HTTP2_ERROR';
}
