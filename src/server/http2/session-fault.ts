import { constants, type ServerHttp2Session } from 'node:http2';
import type { Http2Fault } from '../../core/index.ts';

/** nghttp2's own errors by number, where they say that a client floods. */
const FLOODS: ReadonlyMap<number, Http2Fault> = new Map([
  // NGHTTP2_ERR_FLOODED: a thousand acknowledgements of PING or SETTINGS wait to go out.
  [-904, 'control_frames'],
  // NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: eight, behind one HEADERS.
  [-905, 'continuations'],
  // NGHTTP2_ERR_CALLBACK_FAILURE: Node has refused a hundred streams past the maximum.
  [-902, 'refused_streams'],
]);

/** What a session ended by, as far as its client is to blame; null: its socket broke, or the client ended it. */
export function faultOf({ code, errno }: NodeJS.ErrnoException): Http2Fault | null {
  if (code === 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES') return 'invalid_frames';
  if (code !== 'ERR_HTTP2_ERROR') return null;
  return FLOODS.get(errno ?? 0) ?? 'protocol';
}

/** When Node ends a session by itself, its GOAWAY says INTERNAL_ERROR. This tells whose fault it was (RFC 9113, 7). */
export function blameClient(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  session.destroy = (error, code) => {
    // Node hands over null or a code as well.
    const fault = error instanceof Error ? faultOf(error) : null;
    destroy(error, code ?? codeOf(fault));
  };
}

function codeOf(fault: Http2Fault | null): number | undefined {
  if (fault === null) return undefined;
  return fault === 'protocol' ? constants.NGHTTP2_PROTOCOL_ERROR : constants.NGHTTP2_ENHANCE_YOUR_CALM;
}
