import { type FieldNames, NO_NAMES } from '../../../core/index.ts';
import { EncodingTable, type Entry, STATIC_NAMES, STATIC_VALUES } from './encoding-table.ts';

/** Names of secrets: no table may keep them, neither ours nor an intermediary's (RFC 7541, 7.1.3). */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Whether we never index fields of this lower-case name. */
export function isSecret(name: string): boolean {
  return SECRET.has(name);
}

/** Strings up to this length are copied in a loop, which is faster than a call into native code. */
const SHORT = 24;
/** Maximum bytes of the three integers of a field. */
const INTEGERS = 18;

const staticNames = new Map<string, number>();
const staticFields = new Map<string, Map<string, number>>();
for (let i = STATIC_NAMES.length - 1; i > 0; i--) {
  const name = STATIC_NAMES[i] as string;
  staticNames.set(name, i);
  const values = staticFields.get(name) ?? new Map<string, number>();
  staticFields.set(name, values.set(STATIC_VALUES[i] as string, i));
}

/** Maximum fields of a section whose places in a table are remembered. */
const MAX_HINTS = 32;

/**
 * Remembers where the tables hold one field of the last section. The field at the same position of the next section is usually
 * the same.
 */
class Hint {
  /** Its name as given, possibly with capitals. */
  name = '';
  value = '';
  /** Its index in the static table, or its entry in the dynamic one. */
  index = 0;
  entry: Entry | null = null;

  set(name: string, value: string, index: number, entry: Entry | null): void {
    this.name = name;
    this.value = value;
    this.index = index;
    this.entry = entry;
  }
}

/** The buffer of all encoders: each block is written to its connection before the next one is encoded. */
let room: Buffer = Buffer.allocUnsafeSlow(4_096);
/** A buffer larger than this is not kept. */
const MAX_KEPT_BYTES = 65_536;

/** Encodes the header blocks of a connection, in order (RFC 7541). Without Huffman coding, which costs more than it saves. */
export class HeaderEncoder {
  readonly #table = new EncodingTable();
  /** Hints for heads, and for trailers. */
  #headHints: Hint[] = [];
  #tailHints: Hint[] = [];
  #at = 0;

  /** Frees what only speeds up repeated sections. */
  forget(): void {
    this.#headHints = [];
    this.#tailHints = [];
  }

  /** Applies the peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(bytes: number): void {
    this.#table.limit(bytes);
  }

  /**
   * Encodes a section of names and values in turn. The block is valid until any encoder encodes the next one. Names are written
   * in lower case.
   *
   * @param neverIndexed names of fields to keep out of all tables, in addition to the secrets
   * @param status comes first; 0 if there is none
   */
  encode(fields: readonly string[], neverIndexed: FieldNames = NO_NAMES, status = 0): Buffer {
    if (room.length > MAX_KEPT_BYTES) room = Buffer.allocUnsafeSlow(4_096);
    this.#at = 0;
    for (const bytes of this.#table.takeResizes()) this.#integer(0x20, 0x1f, bytes);
    const isHead = status > 0 || fields[0]?.startsWith(':') === true;
    const hints = isHead ? this.#headHints : this.#tailHints;
    if (status > 0) this.#field(':status', String(status), hintAt(hints, 0));
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] as string;
      const value = fields[i + 1] as string;
      if (neverIndexed.size > 0 && neverIndexed.has(name.toLowerCase()))
        this.#secret(name.toLowerCase(), value);
      else this.#field(name, value, hintAt(hints, i / 2 + 1));
    }
    return room.subarray(0, this.#at);
  }

  /** Writes a field that is never indexed (RFC 7541, 6.2.3). Only its name may come from a table. */
  #secret(name: string, value: string): void {
    this.#reserve(name.length + value.length + INTEGERS);
    this.#literal(0x10, 0x0f, name, value);
  }

  #field(rawName: string, value: string, hint: Hint): void {
    this.#reserve(rawName.length + value.length + INTEGERS);
    const index = this.#find(rawName, value, hint);
    if (index > 0) {
      this.#integer(0x80, 0x7f, index);
      return;
    }
    const name = rawName.toLowerCase();
    if (SECRET.has(name)) this.#literal(0x10, 0x0f, name, value);
    else if (this.#table.wants(name, value)) {
      this.#literal(0x40, 0x3f, name, value);
      hint.set(rawName, value, 0, this.#table.add(name, value));
    } else this.#literal(0x00, 0x0f, name, value);
  }

  /** Returns the index of a field in one of the tables; 0 if it is in none. */
  #find(rawName: string, value: string, hint: Hint): number {
    if (hint.name === rawName && hint.value === value) {
      if (hint.entry === null) return hint.index;
      if (hint.entry.isHeld) return this.#table.use(hint.entry);
    }
    const name = rawName.toLowerCase();
    const index = staticFields.get(name)?.get(value);
    const entry = index === undefined ? this.#table.find(name, value) : undefined;
    if (index !== undefined || entry !== undefined) hint.set(rawName, value, index ?? 0, entry ?? null);
    return index ?? (entry === undefined ? 0 : this.#table.use(entry));
  }

  #literal(pattern: number, prefix: number, name: string, value: string): void {
    const index = staticNames.get(name) ?? this.#table.indexOfName(name);
    this.#integer(pattern, prefix, index);
    if (index === 0) this.#string(name);
    this.#string(value);
  }

  #integer(pattern: number, prefix: number, value: number): void {
    if (value < prefix) {
      room[this.#at++] = pattern | value;
      return;
    }
    room[this.#at++] = pattern | prefix;
    let left = value - prefix;
    for (; left >= 0x80; left >>>= 7) room[this.#at++] = (left & 0x7f) | 0x80;
    room[this.#at++] = left;
  }

  #string(text: string): void {
    const { length } = text;
    this.#integer(0, 0x7f, length);
    let at = this.#at;
    if (length > SHORT) room.write(text, at, length, 'latin1');
    else for (let i = 0; i < length; i++) room[at++] = text.charCodeAt(i);
    this.#at += length;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= room.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes));
    room.copy(larger, 0, 0, this.#at);
    room = larger;
  }
}

function hintAt(hints: Hint[], place: number): Hint {
  const at = Math.min(place, MAX_HINTS);
  hints[at] ??= new Hint();
  return hints[at];
}
