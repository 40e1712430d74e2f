import { type FieldNames, NO_NAMES } from '../../core/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';
import { ENTRY_OVERHEAD, FIRST_DYNAMIC, STATIC_NAMES, STATIC_VALUES } from './encoding-table.ts';
import { decodeHuffman } from './huffman.ts';

/** Size of the table that an encoder may fill; we send no SETTINGS that change it (RFC 9113, 6.5.2). */
const TABLE_BYTES = 4_096;
/** Largest shift of an integer's last byte: longer integers are of no use, and an error (RFC 7541, 5.1). */
const MAX_SHIFT = 21;

/** A decoded header section. */
export interface HeaderSection {
  /** Names and values in turn. A pseudo-field, if there is one, comes first. */
  readonly fields: string[];
  /** Why the section is malformed; `null` if it is not. */
  readonly flaw: string | null;
  /** Names of fields that must be sent on as never indexed, as they came (RFC 7541, 6.2.3). */
  readonly neverIndexed: FieldNames;
}

/** How large a header section may be. */
export interface SectionBounds {
  /** Most bytes, with 32 more for each field (RFC 9113, 6.5.2). */
  readonly maxBytes: number;
  readonly maxFields: number;
}

/** Decodes the header blocks of a connection, one after the other (RFC 7541). */
export class HeaderDecoder {
  readonly #grade: (name: string, value: string) => FieldGrade;
  readonly #bounds: SectionBounds;
  readonly #static: readonly DecodedField[];
  readonly #table = new DecodingTable(TABLE_BYTES);
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #fields: string[] = [];
  /** Size of the section so far, with 32 bytes more for each field, dropped ones included. */
  #bytes = 0;
  #flaw: string | null = null;
  #neverIndexed: Set<string> | undefined;

  constructor(bounds: SectionBounds, grade: (name: string, value: string) => FieldGrade) {
    this.#bounds = bounds;
    this.#grade = grade;
    this.#static = STATIC_NAMES.map((name, i) => this.#field(name, STATIC_VALUES[i] as string));
  }

  /** Decodes a whole block. Throws Http2Fault; the tables of both sides differ from then on. */
  decode(block: Buffer): HeaderSection {
    this.#block = block;
    this.#at = 0;
    this.#fields = [];
    this.#bytes = 0;
    this.#flaw = null;
    this.#neverIndexed = undefined;
    this.#readResizes();
    while (this.#at < block.length) this.#take(this.#readField(block[this.#at] as number));
    return { fields: this.#fields, flaw: this.#flaw, neverIndexed: this.#neverIndexed ?? NO_NAMES };
  }

  /** Reads changes of the table's size, which come first (RFC 7541, 4.2). */
  #readResizes(): void {
    while (((this.#block[this.#at] ?? 0) & 0xe0) === 0x20) {
      const bytes = this.#integer(0x1f);
      if (bytes > TABLE_BYTES) throw fault('a table larger than agreed');
      this.#table.resize(bytes);
    }
  }

  #readField(first: number): DecodedField {
    if (first >= 0x80) return this.#indexed(this.#integer(0x7f));
    if (first >= 0x40) {
      const field = this.#literal(0x3f);
      this.#table.add(field);
      return field;
    }
    if (first >= 0x20) throw fault('a change of the table behind a field');
    const field = this.#literal(0x0f);
    if (first >= 0x10) {
      this.#neverIndexed ??= new Set();
      this.#neverIndexed.add(field.name);
    }
    return field;
  }

  #literal(prefix: number): DecodedField {
    const index = this.#integer(prefix);
    const name = index === 0 ? this.#string() : this.#indexed(index).name;
    return this.#field(name, this.#string());
  }

  #field(name: string, value: string): DecodedField {
    const bytes = name.length + value.length + ENTRY_OVERHEAD;
    return { name, value, grade: this.#grade(name, value), bytes };
  }

  #indexed(index: number): DecodedField {
    const field = index < FIRST_DYNAMIC ? this.#static[index] : this.#table.at(index - FIRST_DYNAMIC);
    if (field === undefined || index === 0) throw fault('an index of no entry');
    return field;
  }

  /** Adds a field to the section, or notes why it makes the section malformed. */
  #take({ name, value, grade, bytes }: DecodedField): void {
    this.#bytes += bytes;
    const { maxBytes, maxFields } = this.#bounds;
    if (this.#bytes > maxBytes || this.#fields.length >= 2 * maxFields)
      this.#flaw ??= 'a head that is too large';
    if (grade === 'malformed') this.#flaw ??= 'a field that cannot be';
    else if (grade === 'status' && this.#bytes > bytes) this.#flaw ??= 'a pseudo-field behind a field';
    if (this.#flaw === null && grade !== 'dropped') this.#fields.push(name, value);
  }

  /** Reads an integer (RFC 7541, 5.1). */
  #integer(prefix: number): number {
    const block = this.#block;
    let value = (block[this.#at++] as number) & prefix;
    if (value < prefix) return value;
    for (let shift = 0; shift <= MAX_SHIFT; shift += 7) {
      const byte = block[this.#at++];
      if (byte === undefined) throw fault('a header block that ends early');
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw fault('an integer that is too large');
  }

  /** Reads a string (RFC 7541, 5.2). */
  #string(): string {
    const block = this.#block;
    const first = block[this.#at];
    if (first === undefined) throw fault('a header block that ends early');
    const length = this.#integer(0x7f);
    const from = this.#at;
    const to = from + length;
    if (to > block.length) throw fault('a header block that ends early');
    this.#at = to;
    return first >= 0x80 ? decodeHuffman(block, from, to) : block.toString('latin1', from, to);
  }
}

function fault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.COMPRESSION_ERROR, message);
}

/** A decoded field. */
interface DecodedField {
  readonly name: string;
  readonly value: string;
  readonly grade: FieldGrade;
  /** Its size in the table (RFC 7541, 4.1). */
  readonly bytes: number;
}

/** The dynamic table of the other side's encoder (RFC 7541, 2.3.2). */
export class DecodingTable {
  readonly #ring: (DecodedField | undefined)[];
  readonly #mask: number;
  /** How many entries were ever added; the newest is at this place less 1. */
  #added = 0;
  #length = 0;
  #bytes = 0;
  #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    const entries = 2 ** Math.ceil(Math.log2(maxBytes / ENTRY_OVERHEAD + 1));
    this.#ring = new Array(entries);
    this.#mask = entries - 1;
  }

  get length(): number {
    return this.#length;
  }

  /** Returns the entry at this place, where 0 is the newest; undefined if there is none. */
  at(place: number): DecodedField | undefined {
    return place < this.#length ? this.#ring[(this.#added - 1 - place) & this.#mask] : undefined;
  }

  /** Adds a field. One that is larger than the table empties it (RFC 7541, 4.4). */
  add(field: DecodedField): void {
    this.#evict(this.#maxBytes - field.bytes);
    if (field.bytes > this.#maxBytes) return;
    this.#ring[this.#added++ & this.#mask] = field;
    this.#length++;
    this.#bytes += field.bytes;
  }

  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#evict(maxBytes);
  }

  #evict(maxBytes: number): void {
    while (this.#length > 0 && this.#bytes > maxBytes) {
      const place = (this.#added - this.#length) & this.#mask;
      this.#bytes -= this.#ring[place]?.bytes ?? 0;
      // Free its memory at once, or the table would hold far more than its bytes.
      this.#ring[place] = undefined;
      this.#length--;
    }
  }
}

/** What becomes of a field of a response. */
export type FieldGrade =
  /** The field is passed on. */
  | 'field'
  /** The field is `:status`. */
  | 'status'
  /** A byte of its name or value is forbidden: the field is left out, and the section stays valid. */
  | 'dropped'
  /** The field makes the whole section malformed (RFC 9113, 8.1.1). */
  | 'malformed';

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const UPPER_CASE = /[A-Z]/;
/** A field value: visible characters, obs-text, and blanks inside (RFC 9110, 5.5). */
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** Fields that belong to a connection of HTTP/1.1 (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'],
]);

/** Judges a field by itself, as nghttp2 does. */
export function gradeResponseField(name: string, value: string): FieldGrade {
  if (name.startsWith(':')) return name === ':status' ? 'status' : 'malformed';
  if (UPPER_CASE.test(name) || CONNECTION_FIELDS.has(name)) return 'malformed';
  if (name === 'te' && value !== 'trailers') return 'malformed';
  if (NAME.test(name) && VALUE.test(value)) return 'field';
  // If content-length were dropped, a body of any length would count as whole.
  return name === 'content-length' ? 'malformed' : 'dropped';
}
