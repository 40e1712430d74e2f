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

/** Frames that nghttp2 finds invalid, and empty DATA, until the connection is closed. */
const MAX_INVALID_FRAMES = 100;
/** What a field counts beyond its bytes (RFC 9113, 6.5.2). */
const FIELD_OVERHEAD_BYTES = 32;

/** The caps of requests that hold for every protocol. */
interface HeadCaps {
  readonly headBytes: number;
  readonly fields: number;
}

/** What nghttp2 and Node hold a client to. Heads up to twice the caps come through to the gateway, which answers 431. */
export function clientSessionOptions(model: Http2Model, { headBytes, fields }: HeadCaps): ServerOptions {
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

type FieldObject = Record<string, string | string[]>;

/** Fields in the form in which Node takes those of an interim response and of trailers: those of one name are a list. */
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
 * The fields that a client sent as never indexed, which have to be sent on so (RFC 7541, 6.2.3). Without those that we never index
 * in any case: nghttp2 sends every Authorization so.
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

/** nghttp2's own errors by number, where they say that a client floods. */
const FLOODS: ReadonlyMap<number, Http2FaultReason> = new Map([
  // NGHTTP2_ERR_FLOODED: a thousand acknowledgements of PING or SETTINGS wait to go out.
  [-904, 'control_frames'],
  // NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: eight, behind one HEADERS.
  [-905, 'continuations'],
  // NGHTTP2_ERR_CALLBACK_FAILURE: Node has refused a hundred streams past the maximum.
  [-902, 'refused_streams'],
]);

/** What a session ended by, as far as its client is to blame; null: its socket broke, or the client ended it. */
export function faultOf({ code, errno }: NodeJS.ErrnoException): Http2FaultReason | null {
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

function codeOf(fault: Http2FaultReason | null): number | undefined {
  if (fault === null) return undefined;
  return fault === 'protocol' ? constants.NGHTTP2_PROTOCOL_ERROR : constants.NGHTTP2_ENHANCE_YOUR_CALM;
}
