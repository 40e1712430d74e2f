import type { BodyLength, BodySource, Fields } from '../../core/index.ts';

/** A request as it goes upstream. */
export interface UpstreamRequest {
  readonly method: string;
  /** Origin-form: path and query. */
  readonly target: string;
  /**
   * Every field but the framing (`Content-Length`, `Transfer-Encoding`) and `Connection`, which the transport writes.
   * They go out as they are. A value that was not parsed from a field must hold no control byte and no character above 0xff:
   * latin-1 would turn U+010A into a line feed.
   */
  readonly fields: Fields;
  /** The client takes trailers (`TE: trailers`, RFC 9110, 10.1.4). Goes upstream over HTTP/2 only, where gRPC asks for it. */
  readonly takesTrailers: boolean;
  readonly bodyLength: BodyLength;
  /** Where the body comes from; null exactly when `bodyLength` is 0. */
  readonly body: BodySource | null;
  /** Milliseconds from the last byte of the request to the first of the response. */
  readonly firstByteTimeoutMs: number;
  /** Milliseconds between two bytes of the response's body. */
  readonly idleTimeoutMs: number;
}
