import { type FieldNames, type Fields, NO_NAMES } from '../../core/index.ts';

/** One request with its response, on a stream of HTTP/2. */
export class ServerStream {
  readonly id: number;
  /** How many bytes of the response were written and could not be sent yet. */
  readonly unsent = 0;
  /** True once the whole request has come. */
  readonly isRequested: boolean = false;
  /** True once the end of the response has left for the socket. */
  readonly isAnswered: boolean = false;
  /** True once neither side sends anything more. */
  readonly isClosed: boolean = false;

  constructor(id: number) {
    this.id = id;
  }

  /** Sends the final head: names and values in turn, without `:status`. If `ends`, there is no body. */
  respond(_status: number, _fields: Fields, _ends: boolean, _neverIndexed: FieldNames = NO_NAMES): void {}

  /** Sends an interim response. */
  info(_status: number, _fields: Fields, _neverIndexed: FieldNames = NO_NAMES): void {}

  /**
   * Sends bytes, which must not change before they are sent. Returns true if all have been, and may change; else `drained` tells
   * the handler.
   */
  write(_bytes: Buffer): boolean {
    return true;
  }

  /** Ends the response behind all that was written. */
  end(_trailers: Fields, _neverIndexed: FieldNames = NO_NAMES): void {}

  /** Lets the request's body flow: at first it does not. It stops when the handler's `data` returns false. */
  resume(): void {}

  /** Sends RST_STREAM with this code. The handler is not called any more. Returns whether anything was left of the stream. */
  reset(_code: number): boolean {
    return false;
  }
}

/** How a stream ended. */
export type RequestEnd =
  /** Both sides have ended it. */
  | { readonly how: 'done' }
  /** The client sent RST_STREAM. */
  | { readonly how: 'reset'; readonly code: number }
  /** The client broke a rule, and RST_STREAM was sent to it. */
  | { readonly how: 'malformed'; readonly why: string }
  /** The connection is lost. */
  | { readonly how: 'lost' };
