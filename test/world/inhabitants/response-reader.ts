/** A response as a client has read it. */
export interface Response {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
  /** Latin-1. */
  readonly body: string;
}

/** Reads the responses of a connection of HTTP/1.1, in its own simple and strict way. Throws at what is none. */
export class ResponseStream {
  #bytes = '';
  #head: { readonly status: number; readonly fields: Map<string, string> } | null = null;
  /** What the chunks of a body held that have come. */
  #chunked = '';

  /** What has come of a response that is not whole. */
  get isWithin(): boolean {
    return this.#head !== null || this.#bytes !== '';
  }

  /** What has come of it: its head, and of a body in chunks what whole chunks held. */
  get part(): Response | null {
    return this.#head && { ...this.#head, body: this.#chunked };
  }

  take(piece: Buffer): void {
    this.#bytes += piece.toString('latin1');
  }

  /** Returns the next whole response; `null` if more has to come. `method`: of the request that it answers. */
  next(method: string, isEnded: boolean): Response | null {
    for (;;) {
      if (this.#head === null) {
        const end = this.#bytes.indexOf('\r\n\r\n');
        if (end < 0) return null;
        this.#head = headOf(this.#bytes.slice(0, end));
        this.#bytes = this.#bytes.slice(end + 4);
      }
      const head = this.#head;
      if (head.status >= 200) {
        const body = this.#body(head, method, isEnded);
        if (body === null) return null;
        this.#head = null;
        return { ...head, body };
      }
      this.#head = null;
    }
  }

  #body({ status, fields }: Omit<Response, 'body'>, method: string, isEnded: boolean): string | null {
    if (method === 'HEAD' || status === 204 || status === 304) return '';
    if (fields.get('transfer-encoding') === 'chunked') return this.#chunks();
    const length = fields.get('content-length');
    if (length !== undefined) return this.#cut(Number(length));
    return isEnded ? this.#cut(this.#bytes.length) : null;
  }

  #cut(length: number): string | null {
    if (this.#bytes.length < length) return null;
    const body = this.#bytes.slice(0, length);
    this.#bytes = this.#bytes.slice(length);
    return body;
  }

  #chunks(): string | null {
    for (let at = 0; ; ) {
      const lineEnd = this.#bytes.indexOf('\r\n', at);
      const size = this.#bytes.slice(at, Math.max(lineEnd, at));
      const end = lineEnd + 2 + Number.parseInt(size, 16);
      if (lineEnd >= 0 && !/^[0-9a-f]+$/i.test(size)) throw new Error(`this is no size of a chunk: ${size}`);
      if (lineEnd < 0 || this.#bytes.length < end + 2) {
        this.#bytes = this.#bytes.slice(at);
        return null;
      }
      if (this.#bytes.slice(end, end + 2) !== '\r\n') throw new Error('a chunk does not end where it should');
      this.#chunked += this.#bytes.slice(lineEnd + 2, end);
      at = end + 2;
      if (end === lineEnd + 2) {
        const body = this.#chunked;
        this.#bytes = this.#bytes.slice(at);
        this.#chunked = '';
        return body;
      }
    }
  }
}

function headOf(text: string): { status: number; fields: Map<string, string> } {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5]\d\d) /.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`this is no status line: ${statusLine}`);
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === '') throw new Error(`this is no field: ${line}`);
    fields.set(name.toLowerCase(), value);
  }
  return { status: Number(status), fields };
}
