import { value, type WireFields } from './fields.ts';
import { type Framing, responseFraming } from './framing.ts';
import type { MessageSink } from './message-reader.ts';
import { Violation } from './violation.ts';

export interface Interim {
  readonly status: number;
  readonly fields: WireFields;
}

/** A response as a client saw it. */
export interface Response {
  readonly status: number;
  readonly reason: string;
  readonly fields: WireFields;
  /** The 1xx responses before it. */
  readonly interim: readonly Interim[];
  readonly framing: Framing;
  /** The first bytes of the body; all of it unless the reader keeps fewer. */
  readonly body: Buffer;
  readonly bodyBytes: number;
  readonly trailers: WireFields;
  /** False: the connection ended inside the response. */
  readonly complete: boolean;
  /** What ended it. `close` is a clean FIN, which completes a body without framing and truncates any other. */
  readonly end: 'framing' | 'close' | 'reset';
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-9]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/;

/** Collects one response, the interim one or the last. */
export class ResponseParts implements MessageSink {
  readonly #method: string;
  readonly #keepBytes: number;
  readonly #onData: ((bytes: Buffer) => void) | undefined;
  readonly #pieces: Buffer[] = [];
  status = 0;
  reason = '';
  fields: WireFields = [];
  framing: Framing = 0;
  bodyBytes = 0;

  constructor(method: string, keepBytes: number, onData?: (bytes: Buffer) => void) {
    this.#method = method;
    this.#keepBytes = keepBytes;
    this.#onData = onData;
  }

  head(startLine: string, fields: WireFields): Framing {
    const match = STATUS_LINE.exec(startLine);
    if (match === null) throw new Violation(`status line ${JSON.stringify(startLine.slice(0, 200))}`);
    this.status = Number(match[1]);
    this.reason = match[2] ?? '';
    this.fields = fields;
    this.framing = responseFraming(this.status, this.#method, fields);
    return this.framing;
  }

  data(bytes: Buffer): void {
    if (this.bodyBytes < this.#keepBytes) this.#pieces.push(bytes);
    this.bodyBytes += bytes.length;
    this.#onData?.(bytes);
  }

  get body(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** The value of a field of the response; undefined without it, an error where it came twice. */
export function header(response: { readonly fields: WireFields }, name: string): string | undefined {
  return value(response.fields, name);
}
