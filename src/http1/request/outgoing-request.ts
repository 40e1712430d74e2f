import type { BodyLength, BodySource, FieldNames, Fields } from '../../core/index.ts';
import type { RequestFraming } from './request-framing.ts';

/** A request to be written to an upstream. */
export interface OutgoingRequest {
  readonly method: string;
  /** Origin-form: path and query. */
  readonly target: string;
  /**
   * Every field except framing (`Content-Length`, `Transfer-Encoding`) and `Connection`, which the writer adds. They go out as
   * they are, so a value that did not come from a parsed field must not contain control bytes or characters above 0xff: latin-1
   * would turn U+010A into a line feed.
   */
  readonly fields: Fields;
  /** Fields that no intermediary may put into a table, pseudo-fields among them (RFC 7541, 6.2.3). For HTTP/2 only. */
  readonly neverIndexed: FieldNames;
  /** The client takes trailers (`TE: trailers`, RFC 9110, 10.1.4). Goes upstream over HTTP/2 only, where gRPC asks for it. */
  readonly takesTrailers: boolean;
  /** The protocol to switch to. The transport writes the fields that ask for it. */
  readonly upgrade: RequestFraming['upgrade'];
  readonly bodyLength: BodyLength;
  /** Where the body comes from; null exactly when `bodyLength` is 0. */
  readonly body: BodySource | null;
  /** Milliseconds from the last byte of the request to the first of the response; null: any number. */
  readonly firstByteTimeoutMs: number | null;
  /** Milliseconds between two bytes of the response's body; null: any number. */
  readonly idleTimeoutMs: number | null;
}
