import { CR, MalformedMessage, SEMICOLON, TEXT, TOKEN } from '../message/index.ts';

/** Of one chunk. */
const MAX_LINE_BYTES = 256;

const QUOTE = 0x22;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

// Where in a chunk's extensions the next byte stands. RFC 9112, 7.1.1, without the "bad" blanks, which a sender must not
// generate: `*( ";" chunk-ext-name [ "=" chunk-ext-val ] )`, the value a token or a quoted string (RFC 9110, 5.6.4).
const NAME_START = 0;
const NAME = 1;
const VALUE_START = 2;
const VALUE = 3;
const QUOTED = 4;
const ESCAPED = 5;
const QUOTED_END = 6;
const END = 7;
const WRONG = 8;

/** The place that a byte leads to, at `place * 256 + byte`. */
const STEPS = new Uint8Array(END * 256).fill(WRONG);
for (let byte = 0; byte < 256; byte++) {
  if (TOKEN[byte] === 1) {
    for (const place of [NAME_START, NAME]) STEPS[place * 256 + byte] = NAME;
    for (const place of [VALUE_START, VALUE]) STEPS[place * 256 + byte] = VALUE;
  }
  if (TEXT[byte] === 1) for (const place of [QUOTED, ESCAPED]) STEPS[place * 256 + byte] = QUOTED;
}
STEPS[NAME * 256 + EQUALS] = VALUE_START;
STEPS[VALUE_START * 256 + QUOTE] = QUOTED;
STEPS[QUOTED * 256 + BACKSLASH] = ESCAPED;
STEPS[QUOTED * 256 + QUOTE] = QUOTED_END;
for (const place of [NAME, VALUE, QUOTED_END]) {
  STEPS[place * 256 + SEMICOLON] = NAME_START;
  STEPS[place * 256 + CR] = END;
}

/** Checks and skips the extensions of a body's chunks. */
export class ChunkExtensions {
  #place = NAME_START;
  #lineBytes = 0;
  #bodyBytes = 0;
  readonly #maxBodyBytes: number;

  /** @param maxBodyBytes of all chunks of the body together */
  constructor(maxBodyBytes: number) {
    this.#maxBodyBytes = maxBodyBytes;
  }

  /** The extensions of the present chunk have been read, including the CR after them. */
  get over(): boolean {
    return this.#place === END;
  }

  /**
   * Reads a chunk's extensions after their first semicolon; once they are over, those of the next chunk. Returns the
   * position after them. Throws MalformedMessage.
   */
  read(bytes: Uint8Array, at: number, end: number): number {
    if (this.over) {
      this.#place = NAME_START;
      this.#lineBytes = 0;
    }
    let place = this.#place;
    const from = at;
    while (at < end && place < END) place = STEPS[place * 256 + (bytes[at++] as number)] as number;
    this.#place = place;
    this.#lineBytes += at - from;
    this.#bodyBytes += at - from;
    if (place === WRONG) throw new MalformedMessage('a malformed chunk extension');
    if (this.#lineBytes > MAX_LINE_BYTES || this.#bodyBytes > this.#maxBodyBytes)
      throw new MalformedMessage('chunk extensions that are too long');
    return at;
  }
}
