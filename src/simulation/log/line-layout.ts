/** The members of a line, in the order in which the gateway writes them. */
const NAMES = [
  ...[
    'level',
    'time',
    'type',
    'instance',
    'keyId',
    'requestId',
    'traceId',
    'arrivedAt',
    'sequence',
    'protocol',
  ],
  ...['method', 'route', 'path', 'upstream', 'client', 'class', 'userAgent', 'caller', 'bucket', 'decision'],
  ...[
    'decidedAt',
    'draws',
    'main',
    'restricted',
    'callerUnknown',
    'preflight',
    'spared',
    'webhook',
    'lasted',
    'status',
    'outcome',
    'grpcStatus',
    'bytesReceived',
    'bytesSent',
  ],
  ...[
    'durationMs',
    'upstreamMs',
    'scope',
    'offenceAt',
    'offenceAfter',
    'returnedAt',
    'returnedAfter',
    'waitedMs',
    'retried',
    'tokenRefused',
    'claim',
    'refusedCaller',
    'error',
    'side',
    'cap',
    'cause',
  ],
] as const;
type Name = (typeof NAMES)[number];

const KEYS: readonly Buffer[] = NAMES.map(name => Buffer.from(`"${name}":`));

/** The place of a member in `NAMES`. */
export function placeOf(name: Name): number {
  return NAMES.indexOf(name);
}

/** What kind of value a member has. `fraction`: a number that is not whole. */
export const Kind = { absent: 0, text: 1, whole: 2, fraction: 3, null: 4, true: 5, false: 6 } as const;

const WORDS = [
  { kind: Kind.null, bytes: Buffer.from('null') },
  { kind: Kind.true, bytes: Buffer.from('true') },
  { kind: Kind.false, bytes: Buffer.from('false') },
] as const;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** Lower bytes have to be escaped in JSON. */
const SPACE = 0x20;
/** Longer numbers may not be exact. */
const MAX_DIGITS = 15;
/** No line is so broken that it leads back here. */
const BROKEN = -1;

/**
 * Where the values of a line lie in its bytes. Most members are those of an earlier line, byte for byte: they are compared, four bytes
 * at a time, and not read again.
 */
export class LineLayout {
  /** By place: the kind of each value, and where it begins and ends (a text without its quotation marks). */
  readonly kinds = new Uint8Array(NAMES.length);
  readonly starts = new Int32Array(NAMES.length);
  readonly ends = new Int32Array(NAMES.length);
  /** By place: the number of the line that last brought another value. */
  readonly changes = new Float64Array(NAMES.length);
  #line = 0;
  #bytes: Buffer | null = null;
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** By place: where a member of these bytes lies, from its key to the comma behind it, and its kind; absent: not seen yet. */
  readonly #seen = new Uint8Array(NAMES.length);
  readonly #from = new Int32Array(NAMES.length);
  readonly #to = new Int32Array(NAMES.length);
  /** By place + 1: the place of the member that came behind it. */
  readonly #next = new Uint8Array(NAMES.length + 1);

  /**
   * Whether the line is an object of members in their usual order, each at most once, with plain values: texts without a
   * backslash, numbers without a sign or an exponent.
   *
   * @param bytes as long as they are the same object, they must not change
   * @param end after its last byte, without the line feed
   */
  read(bytes: Buffer, start: number, end: number): boolean {
    if (bytes !== this.#bytes) this.#begin(bytes);
    this.#line++;
    this.kinds.fill(Kind.absent);
    if (bytes[start] !== OPEN) return false;
    let at = start;
    let place = -1;
    do {
      const usual = this.#next[place + 1] ?? 0;
      if (usual > place && this.#isSeen(usual, at + 1, end)) {
        place = usual;
        at = this.#repeat(usual, at + 1);
      } else {
        const key = at + 1;
        const next = placeOfKey(bytes, key, place + 1);
        if (next < 0) return false;
        at = this.#readValue(bytes, key + (KEYS[next]?.length ?? 0), next);
        this.#note(next, key, at);
        this.#next[place + 1] = next;
        place = next;
      }
    } while (bytes[at] === COMMA);
    return bytes[at] === CLOSE && at + 1 === end;
  }

  #begin(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#seen.fill(Kind.absent);
  }

  /** Whether the member that was last seen at this place stands here again. */
  #isSeen(place: number, at: number, end: number): boolean {
    const from = this.#from[place] ?? 0;
    const length = (this.#to[place] ?? 0) - from;
    if (this.#seen[place] === Kind.absent || at + length > end) return false;
    const view = this.#view;
    const last = length - 4;
    for (let i = 0; i < last; i += 4) if (view.getInt32(from + i) !== view.getInt32(at + i)) return false;
    return view.getInt32(from + last) === view.getInt32(at + last);
  }

  /** Returns where the value ends. */
  #repeat(place: number, at: number): number {
    const from = this.#from[place] ?? 0;
    const to = this.#to[place] ?? 0;
    this.kinds[place] = this.#seen[place] ?? Kind.absent;
    this.starts[place] = (this.starts[place] ?? 0) + at - from;
    this.ends[place] = (this.ends[place] ?? 0) + at - from;
    this.#from[place] = at;
    this.#to[place] = at + to - from;
    return at + to - from - 1;
  }

  #note(place: number, from: number, end: number): void {
    this.changes[place] = this.#line;
    this.#seen[place] = end === BROKEN ? Kind.absent : (this.kinds[place] ?? Kind.absent);
    this.#from[place] = from;
    this.#to[place] = end + 1;
  }

  /** Returns where the value ends. */
  #readValue(bytes: Buffer, at: number, place: number): number {
    const first = bytes[at] ?? 0;
    if (first === QUOTE) return this.#readText(bytes, at + 1, place);
    if (isDigit(first)) return this.#readNumber(bytes, at, place);
    const word = WORDS.find(each => isHere(bytes, at, each.bytes));
    if (word === undefined) return BROKEN;
    this.kinds[place] = word.kind;
    return at + word.bytes.length;
  }

  #readText(bytes: Buffer, start: number, place: number): number {
    const end = endOfText(bytes, start);
    if (end === BROKEN) return BROKEN;
    this.kinds[place] = Kind.text;
    this.starts[place] = start;
    this.ends[place] = end;
    return end + 1;
  }

  #readNumber(bytes: Buffer, start: number, place: number): number {
    const end = endOfDigits(bytes, start);
    const hasLeadingZero = bytes[start] === ZERO && end > start + 1;
    const isWhole = bytes[end] !== POINT;
    const endOfAll = isWhole ? end : endOfDigits(bytes, end + 1);
    if (hasLeadingZero || end - start > MAX_DIGITS || (!isWhole && endOfAll === end + 1)) return BROKEN;
    this.kinds[place] = isWhole ? Kind.whole : Kind.fraction;
    this.starts[place] = start;
    this.ends[place] = endOfAll;
    return endOfAll;
  }
}

/** The place of the key here among those from `first` on; -1: it is missing. */
function placeOfKey(bytes: Buffer, at: number, first: number): number {
  const letter = bytes[at + 1];
  for (let place = first; place < KEYS.length; place++) {
    const key = KEYS[place];
    if (key !== undefined && key[1] === letter && isHere(bytes, at, key)) return place;
  }
  return -1;
}

function isHere(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

function endOfText(bytes: Buffer, start: number): number {
  let end = start;
  for (let byte = bytes[end] ?? 0; byte !== QUOTE; byte = bytes[end] ?? 0) {
    if (byte < SPACE || byte === BACKSLASH) return BROKEN;
    end++;
  }
  return end;
}

function endOfDigits(bytes: Buffer, start: number): number {
  let end = start;
  while (isDigit(bytes[end] ?? 0)) end++;
  return end;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}
