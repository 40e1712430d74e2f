/** The other side broke a rule of HTTP/2. The connection cannot go on (RFC 9113, 5.4.1). */
export class Http2Fault extends Error {
  /** For GOAWAY. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
