import { ErrorCode, Http2Fault, type StreamEnd } from '../../http2/index.ts';
import { OwnFault } from '../own-fault.ts';
import type { UpstreamFailure } from '../transport.ts';

/** What is known of the connection of a stream that closed. */
export interface SessionFate {
  /** Why the connection is lost; null while it is not. */
  readonly broken: Error | null;
  /** It had carried other requests, and the upstream closed it without GOAWAY, perhaps as idle. */
  readonly closedUnawares: boolean;
}

/** The codes for a protocol violation by the other side (RFC 9113, 7). */
const OFFENCES: ReadonlySet<number> = new Set([
  ErrorCode.PROTOCOL_ERROR,
  ErrorCode.FLOW_CONTROL_ERROR,
  ErrorCode.FRAME_SIZE_ERROR,
  ErrorCode.COMPRESSION_ERROR,
  ErrorCode.ENHANCE_YOUR_CALM,
  ErrorCode.HTTP_1_1_REQUIRED,
]);

/** What the log says about a GOAWAY. */
export function departure(code: number): Error {
  return new Error(`the upstream closes the connection with code ${code}`);
}

/** How a stream closed before its response was complete. */
export function streamFailure(end: StreamEnd, session: SessionFate): Omit<UpstreamFailure, 'responseBegun'> {
  const base = { onReusedConnection: false, resetCode: null };
  if (end.how === 'malformed') return { ...base, kind: 'malformed', cause: new Error(end.why) };
  if (end.how === 'unprocessed') return { ...base, kind: 'refused', cause: departure(end.code) };
  if (end.how === 'reset') {
    const cause = new Error(`the upstream closed the stream with code ${end.code}`);
    if (end.code === ErrorCode.REFUSED_STREAM) return { ...base, kind: 'refused', cause };
    return { ...base, kind: OFFENCES.has(end.code) ? 'malformed' : 'reset', cause, resetCode: end.code };
  }
  const cause = session.broken;
  if (cause instanceof OwnFault) return { ...base, kind: 'fault', cause: cause.cause };
  if (cause instanceof Http2Fault) return { ...base, kind: 'malformed', cause };
  return { ...base, kind: 'reset', cause, onReusedConnection: session.closedUnawares };
}
