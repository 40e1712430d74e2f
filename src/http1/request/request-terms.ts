import { hasToken } from '../message/index.ts';
import { type Framing, type Rejection, requestFraming } from './request-framing.ts';
import type { RequestStart } from './request-start.ts';

/** Fields that matter here, by length, so that most names are told apart without a look at their letters. */
const EXPECT_BYTES = 6;
const CONNECTION_BYTES = 10;
const CONTENT_LENGTH_BYTES = 14;
const TRANSFER_ENCODING_BYTES = 17;

/**
 * What the fields of a request say of its body and of the connection it came on. The gates judge the same fields; here it
 * counts where the request ends.
 */
export class RequestTerms {
  contentLength: string | null = null;
  transferEncoding: string | null = null;
  /** The client waits to be asked for its body (RFC 9110, 10.1.1). HTTP/1.0 knows no such thing. */
  expectsContinue = false;
  /** The client would send another request on this connection (RFC 9112, 9.3). */
  readonly persistent: boolean;
  /** How the body is framed, or why nobody can tell. */
  readonly framing: Framing | Rejection;

  #close = false;
  #keepAlive = false;

  constructor({ fields, httpMinor }: Pick<RequestStart, 'fields' | 'httpMinor'>) {
    let doubled = false;
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] as string;
      switch (name.length) {
        case EXPECT_BYTES:
          if (httpMinor === 1 && name.toLowerCase() === 'expect') this.expectsContinue = true;
          break;
        case CONNECTION_BYTES:
          if (name.toLowerCase() === 'connection') this.#readConnection(fields[i + 1] as string);
          break;
        case CONTENT_LENGTH_BYTES:
          if (name.toLowerCase() !== 'content-length') break;
          doubled ||= this.contentLength !== null;
          this.contentLength = fields[i + 1] as string;
          break;
        case TRANSFER_ENCODING_BYTES:
          if (name.toLowerCase() !== 'transfer-encoding') break;
          doubled ||= this.transferEncoding !== null;
          this.transferEncoding = fields[i + 1] as string;
          break;
      }
    }
    // RFC 9112, 9.3: `close` counts before all else, in whichever line; an older client says so where it wants to go on.
    this.persistent = !this.#close && (httpMinor === 1 || this.#keepAlive);
    this.framing = doubled ? DOUBLED : requestFraming(this, httpMinor);
  }

  #readConnection(value: string): void {
    if (hasToken(value, 'close')) this.#close = true;
    else if (hasToken(value, 'keep-alive')) this.#keepAlive = true;
  }
}

const DOUBLED: Rejection = { refused: 'a framing field came twice' };
