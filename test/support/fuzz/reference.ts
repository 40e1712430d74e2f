import { type Framing, MessageReader, requestFraming, Violation, type WireFields } from '../wire/index.ts';

/** A request as RFC 9112 reads it from a client's bytes. */
export interface ReferenceRequest {
  readonly method: string;
  readonly target: string;
  body: string;
  complete: boolean;
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) +([^ \t]+) +HTTP\/1\.[01]$/;

/**
 * Reads what a client sends on one connection as a careful server would, without a line of the gateway's or of Node's
 * parser: an upper bound for what may reach the upstream. It is lenient where no harm comes of it (CR and LF before a
 * request, chunk extensions, several blanks in the request line) and refuses the rest.
 */
export class ReferenceConversation {
  readonly requests: ReferenceRequest[] = [];
  /** `between`: every byte belongs to a complete request; `inside`: one is not complete; `refused`: none will follow. */
  state: 'between' | 'inside' | 'refused' = 'between';
  #reader = this.#newReader();

  push(bytes: Buffer): void {
    if (this.state === 'refused') return;
    try {
      this.#read(bytes);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.state = 'refused';
    }
  }

  #read(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.#reader.untouched) {
        rest = withoutEmptyLines(rest);
        if (rest.length === 0) break;
      }
      this.state = 'inside';
      const behind = this.#reader.push(rest);
      if (behind === null) return;
      const request = this.requests.at(-1);
      if (request !== undefined) request.complete = true;
      this.state = 'between';
      this.#reader = this.#newReader();
      rest = behind;
    }
  }

  #newReader(): MessageReader {
    const sink = {
      head: (startLine: string, fields: WireFields): Framing => this.#head(startLine, fields),
      data: (bytes: Buffer): void => {
        const request = this.requests.at(-1);
        if (request !== undefined) request.body += bytes.toString('latin1');
      },
    };
    return new MessageReader(sink, { chunkExtensions: true });
  }

  #head(startLine: string, fields: WireFields): Framing {
    const match = REQUEST_LINE.exec(startLine);
    if (match === null) throw new Violation('request line');
    const framing = requestFraming(fields);
    this.requests.push({ method: match[1] ?? '', target: match[2] ?? '', body: '', complete: framing === 0 });
    return framing;
  }
}

function withoutEmptyLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === 13 || bytes[at] === 10) at++;
  return bytes.subarray(at);
}
