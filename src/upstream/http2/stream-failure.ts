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

/** Why a stream closed before its response had begun. */
export function streamFailure(
  stream: ClientHttp2Stream,
  session: SessionFate,
  error: Error | null,
): Pick<UpstreamFailure, 'kind' | 'cause' | 'onReusedConnection'> {
  const { id, rstCode } = stream;
  // RFC 9113, 8.7: the request was not processed, whatever its method.
  const refused =
    id === undefined || id > session.lastStreamId || rstCode === constants.NGHTTP2_REFUSED_STREAM;
  const cause = session.broken ?? error ?? new Error(`the upstream closed the stream with code ${rstCode}`);
  if (refused) return { kind: 'refused', cause, onReusedConnection: false };
  const brokeRules = isFoundByNode(cause) || (session.broken === null && OFFENCES.has(rstCode));
  if (brokeRules) return { kind: 'malformed', cause, onReusedConnection: false };
  return { kind: 'reset', cause, onReusedConnection: session.closedUnawares };
}

/** Whether the connection is lost because nghttp2, inside Node, received invalid frames. */
function isFoundByNode(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_HTTP2_ERROR';
}
