import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerOptions,
  sensitiveHeaders,
} from 'node:http2';
import type { Http2Model } from '../../config/index.ts';
import { type FieldNames, type Fields, type Http2FaultReason, NO_NAMES } from '../../core/index.ts';
import { isSecret } from '../../http2/index.ts';

/** How many frames that nghttp2 finds invalid, and empty DATA, may come before the connection is closed. */
const MAX_INVALID_FRAMES = 100;
/** What a field counts besides its bytes (RFC 9113, 6.5.2). */
const FIELD_OVERHEAD_BYTES = 32;

/** The caps of requests that hold for every protocol. */
interface HeadCaps {
  readonly headBytes: number;
  readonly fields: number;
}

/** Makes the limits that nghttp2 and Node set for a client. Heads up to twice the caps reach the gateway, which answers 431. */
export function clientSessionOptions(model: Http2Model, { headBytes, fields }: HeadCaps): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: model.maxStreams,
      initialWindowSize: model.streamWindowBytes,
      maxHeaderListSize: 2 * headBytes + 2 * FIELD_OVERHEAD_BYTES * fields,
      // There is no WebSocket over HTTP/2 (RFC 8441).
      enableConnectProtocol: false,
    },
    maxHeaderListPairs: 2 * fields,
    // Node takes megabytes.
    maxSessionMemory: Math.ceil(model.sessionMemoryBytes / 1_000_000),
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    // An upstream may send a field twice that Node calls single; it passes as it came.
    strictSingleValueFields: false,
  };
}

type FieldObject = Record<string, string | string[]>;

/** Returns fields in the form in which Node takes those of an interim response and of trailers: values of one name are a list. */
export function asObject(fields: Fields, neverIndexed: FieldNames): FieldObject {
  const object: FieldObject = Object.create(null);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    const before = object[name];
    if (before === undefined) object[name] = value;
    else object[name] = typeof before === 'string' ? [before, value] : [...before, value];
  }
  return markNeverIndexed(object, fields, neverIndexed);
}

/**
 * Returns the names of the fields that a client sent as never indexed and that must be sent on so (RFC 7541, 6.2.3). Leaves out
 * secrets: we never index them anyway, and nghttp2 sends every Authorization so.
 */
export function neverIndexedIn(headers: IncomingHttpHeaders): FieldNames {
  const names: readonly string[] | undefined = Reflect.get(headers, sensitiveHeaders);
  if (names === undefined || names.length === 0 || names.every(isSecret)) return NO_NAMES;
  return new Set(names);
}

/** Marks the fields of these names, so that nghttp2 sends them as never indexed. */
export function markNeverIndexed<T extends object>(section: T, fields: Fields, names: FieldNames): T {
  if (names.size === 0) return section;
  const present = fields.filter((name, i) => i % 2 === 0 && names.has(name.toLowerCase()));
  return Object.assign(section, { [sensitiveHeaders]: [...new Set(present)] });
}

/** The errors of nghttp2, by number, that say that a client floods. */
const FLOODS: ReadonlyMap<number, Http2FaultReason> = new Map([
  // NGHTTP2_ERR_FLOODED: a thousand acknowledgements of PING or SETTINGS wait to go out.
  [-904, 'control_frames'],
  // NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: eight, after one HEADERS.
  [-905, 'continuations'],
  // NGHTTP2_ERR_CALLBACK_FAILURE: Node has refused a hundred streams past the maximum.
  [-902, 'refused_streams'],
]);

/** Says which fault of its client ended a session; `null` if its socket broke or the client closed it. */
export function faultOf({ code, errno }: NodeJS.ErrnoException): Http2FaultReason | null {
  if (code === 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES') return 'invalid_frames';
  if (code !== 'ERR_HTTP2_ERROR') return null;
  return FLOODS.get(errno ?? 0) ?? 'protocol';
}

/** Makes the GOAWAY of a session that Node ends blame the client if it is to blame: Node's own says INTERNAL_ERROR (RFC 9113, 7). */
export function blameClient(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  session.destroy = (error, code) => {
    // Node passes null or a code as well.
    const fault = error instanceof Error ? faultOf(error) : null;
    destroy(error, code ?? codeOf(fault));
  };
}

function codeOf(fault: Http2FaultReason | null): number | undefined {
  if (fault === null) return undefined;
  return fault === 'protocol' ? constants.NGHTTP2_PROTOCOL_ERROR : constants.NGHTTP2_ENHANCE_YOUR_CALM;
}
