import type { BodyLength, BodySource, FieldNames } from '../../core/index.ts';
import {
  BodyWriter,
  type OutgoingRequest,
  type RequestWriterOwner,
  statesLength,
} from '../../http1/index.ts';
import type { ClientStream } from '../../http2/index.ts';
import type { UpstreamOptions } from '../transport.ts';

/** The index of the value of `:authority` in the section. */
const AUTHORITY = 5;

/** Scheme and authority, which all requests to an upstream share. */
export interface Origin {
  readonly scheme: 'http' | 'https';
  readonly authority: string;
}

/**
 * Makes the header section of a request, names and values in turn (RFC 9113, 8.3.1).
 *
 * @param origin its authority is for requests that name no host
 */
export function requestHeaders(request: OutgoingRequest, origin: Origin): string[] {
  const { method, target, fields, bodyLength, takesTrailers } = request;
  const { scheme, authority } = origin;
  const headers = [':method', method, ':scheme', scheme, ':authority', authority, ':path', target];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    // RFC 9113, 8.3.1: `:authority` replaces Host.
    if (!isHost(name)) headers.push(name, value);
    else if (value !== '') headers[AUTHORITY] = value;
  }
  if (takesTrailers) headers.push('te', 'trailers');
  if (statesLength(request)) headers.push('content-length', String(bodyLength));
  return headers;
}

/** Names the fields of the section that are never indexed: a client's mark on Host (RFC 7541, 7.1.3) moves to `:authority`. */
export function neverIndexedHeaders({ neverIndexed }: OutgoingRequest): FieldNames {
  return neverIndexed.has('host') ? new Set([...neverIndexed, ':authority']) : neverIndexed;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

/** Makes the origin of an upstream: an IPv6 address in brackets (RFC 3986, 3.2.2), the usual port left out (RFC 9110, 4.2.3). */
export function originOf({ host, port, tls }: Pick<UpstreamOptions, 'host' | 'port' | 'tls'>): Origin {
  const scheme = tls === null ? 'http' : 'https';
  const name = host.includes(':') ? `[${host}]` : host;
  const isUsual = port === (tls === null ? 80 : 443);
  return { scheme, authority: isUsual ? name : `${name}:${port}` };
}

/** Writes the body of a request into its stream, no faster than the upstream's windows let it. */
export class StreamBodyWriter extends BodyWriter {
  readonly #stream: ClientStream;

  constructor(stream: ClientStream, source: BodySource, length: BodyLength, owner: RequestWriterOwner) {
    super(source, length, owner);
    this.#stream = stream;
  }

  /** The number of bytes that have left. */
  get bytesTaken(): number {
    return this.written - this.#stream.unsent;
  }

  protected override write(bytes: Buffer): boolean {
    return this.#stream.write(bytes);
  }

  protected override finish(): void {
    this.#stream.end();
  }
}
