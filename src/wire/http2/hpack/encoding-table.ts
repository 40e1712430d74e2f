/** Maximum bytes of the peer's memory that we use. */
const MAX_BYTES = 4_096;
/** Largest field that is indexed: longer ones would evict too many others. */
const MAX_FIELD_BYTES = 1_024;
/** How many values of a name may be indexed in a row without one being reused. */
const MAX_UNUSED_VALUES = 8;
/** Maximum names that are remembered. */
const MAX_NAMES = 256;

export interface Entry {
  readonly name: string;
  readonly value: string;
  readonly bytes: number;
  /** The number of entries added before this one. */
  readonly number: number;
  readonly state: NameState;
  /** False once it has been evicted. */
  isHeld: boolean;
}

/** What is known about a name. */
interface NameState {
  entries: Entry[];
  /** Values indexed since one was reused. */
  unusedValues: number;
}

/** The dynamic table of our encoder. Indexes fields whose values recur. */
export class EncodingTable {
  readonly #entries: Entry[] = [];
  /** Index of the oldest entry that is still in the table. */
  #oldest = 0;
  readonly #names = new Map<string, NameState>();
  #added = 0;
  #bytes = 0;
  #maxBytes = MAX_BYTES;
  #resizes: number[] = [];

  /** Applies the peer's limit. The next block announces it (RFC 7541, 4.2). */
  limit(bytes: number): void {
    const maxBytes = Math.min(bytes, MAX_BYTES);
    if (maxBytes === this.#maxBytes) return;
    this.#maxBytes = maxBytes;
    this.#evict(maxBytes);
    const least = Math.min(maxBytes, ...this.#resizes);
    this.#resizes = least < maxBytes ? [least, maxBytes] : [maxBytes];
  }

  /** Removes and returns the size changes that have not been sent yet. */
  takeResizes(): readonly number[] {
    if (this.#resizes.length === 0) return this.#resizes;
    const taken = this.#resizes;
    this.#resizes = [];
    return taken;
  }

  /** Returns the index of a field; 0 if it is not there. */
  indexOf(name: string, value: string): number {
    const entry = this.find(name, value);
    return entry === undefined ? 0 : this.use(entry);
  }

  /** Returns the entry of a field; undefined if it is not there. */
  find(name: string, value: string): Entry | undefined {
    return this.#names.get(name)?.entries.findLast(entry => entry.value === value);
  }

  /** Returns the index of an entry in the table, and notes that it was used. */
  use(entry: Entry): number {
    entry.state.unusedValues = 0;
    return FIRST_DYNAMIC + this.#added - 1 - entry.number;
  }

  /** Returns the index of the newest field of this name; 0 if there is none. */
  indexOfName(name: string): number {
    const entry = this.#names.get(name)?.entries.at(-1);
    return entry === undefined ? 0 : FIRST_DYNAMIC + this.#added - 1 - entry.number;
  }

  /** Whether the field should be added. */
  wants(name: string, value: string): boolean {
    const bytes = name.length + value.length + ENTRY_OVERHEAD;
    return (
      bytes <= Math.min(MAX_FIELD_BYTES, this.#maxBytes) &&
      (this.#names.get(name)?.unusedValues ?? 0) < MAX_UNUSED_VALUES
    );
  }

  add(name: string, value: string): Entry {
    const bytes = name.length + value.length + ENTRY_OVERHEAD;
    this.#evict(this.#maxBytes - bytes);
    const state = this.#stateOf(name);
    const entry = { name, value, bytes, number: this.#added++, state, isHeld: true };
    // Most names have one entry. An array that grows by `push` has room for 17.
    if (state.entries.length === 0) state.entries = [entry];
    else state.entries.push(entry);
    state.unusedValues++;
    this.#entries.push(entry);
    this.#bytes += bytes;
    return entry;
  }

  #stateOf(name: string): NameState {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_NAMES)
      for (const [other, { entries }] of this.#names) if (entries.length === 0) this.#names.delete(other);
    const state = { entries: [], unusedValues: 0 };
    this.#names.set(name, state);
    return state;
  }

  #evict(maxBytes: number): void {
    while (this.#bytes > maxBytes) {
      const entry = this.#entries[this.#oldest++] as Entry;
      this.#bytes -= entry.bytes;
      entry.isHeld = false;
      entry.state.entries.shift();
    }
    if (this.#oldest < 128) return;
    this.#entries.splice(0, this.#oldest);
    this.#oldest = 0;
  }
}

/** The static table (RFC 7541, A), names and values in turn; the first has the index 1. */
const ENTRIES = [
  ...[':authority', '', ':method', 'GET', ':method', 'POST', ':path', '/', ':path', '/index.html'],
  ...[':scheme', 'http', ':scheme', 'https', ':status', '200', ':status', '204', ':status', '206'],
  ...[':status', '304', ':status', '400', ':status', '404', ':status', '500', 'accept-charset', ''],
  ...['accept-encoding', 'gzip, deflate', 'accept-language', '', 'accept-ranges', '', 'accept', ''],
  ...['access-control-allow-origin', '', 'age', '', 'allow', '', 'authorization', '', 'cache-control', ''],
  ...['content-disposition', '', 'content-encoding', '', 'content-language', '', 'content-length', ''],
  ...['content-location', '', 'content-range', '', 'content-type', '', 'cookie', '', 'date', '', 'etag', ''],
  ...['expect', '', 'expires', '', 'from', '', 'host', '', 'if-match', '', 'if-modified-since', ''],
  ...['if-none-match', '', 'if-range', '', 'if-unmodified-since', '', 'last-modified', '', 'link', ''],
  ...['location', '', 'max-forwards', '', 'proxy-authenticate', '', 'proxy-authorization', '', 'range', ''],
  ...['referer', '', 'refresh', '', 'retry-after', '', 'server', '', 'set-cookie', ''],
  ...['strict-transport-security', '', 'transfer-encoding', '', 'user-agent', '', 'vary', '', 'via', ''],
  ...['www-authenticate', ''],
];

/** The names of the entries 1 to 61; the name at 0 is empty. */
export const STATIC_NAMES: readonly string[] = ['', ...ENTRIES.filter((_, i) => i % 2 === 0)];
export const STATIC_VALUES: readonly string[] = ['', ...ENTRIES.filter((_, i) => i % 2 === 1)];
/** The index of the first entry of the dynamic table. */
export const FIRST_DYNAMIC = STATIC_NAMES.length;
/** What an entry counts for in addition to its bytes (RFC 7541, 4.1). */
export const ENTRY_OVERHEAD = 32;

/** Returns the size of a section of names and values in turn, as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113, 6.5.2). */
export function sectionBytes(fields: readonly string[]): number {
  let bytes = (fields.length / 2) * ENTRY_OVERHEAD;
  for (const text of fields) bytes += text.length;
  return bytes;
}
