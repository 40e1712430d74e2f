import { type FieldNames, NO_BYTES, NO_NAMES } from '../../../core/index.ts';
import { compressionFault } from '../http2-fault.ts';
import { ENTRY_OVERHEAD, FIRST_DYNAMIC, STATIC_NAMES, STATIC_VALUES } from './encoding-table.ts';
import { FieldGrade } from './field-grade.ts';
import { decodeHuffman } from './huffman.ts';

/** Size of the table that an encoder may fill; our SETTINGS do not change it (RFC 9113, 6.5.2). */
const TABLE_BYTES = 4_096;
/** Largest shift of an integer's last byte: longer integers are useless, and an error (RFC 7541, 5.1). */
const MAX_SHIFT = 21;
/** Maximum bytes of a remembered block, and maximum number of blocks. */
const MAX_REMEMBERED_BYTES = 4_096;
const REMEMBERED = 2;
/** The flaw of a section that exceeds its bounds. */
export const TOO_LARGE = 'a head that is too large';

/** A decoded header section. Repeated blocks give the same object: nobody may change it. */
export interface HeaderSection {
  /** Names and values in turn. Pseudo-fields, if there are any, come first. */
  readonly fields: readonly string[];
  /** Why the section is malformed; `null` if it is not. */
  readonly flaw: string | null;
  /** Its pseudo-fields, as the bits of their grades. */
  readonly pseudo: number;
  /** The values of fields that the codec itself needs; `null` if absent or unusable. */
  readonly length: string | null;
  readonly priority: string | null;
  /** Names of fields that must be forwarded as never indexed, as received (RFC 7541, 6.2.3). */
  readonly neverIndexed: FieldNames;
}

export interface SectionBounds {
  /** Maximum bytes, with 32 more for each field (RFC 9113, 6.5.2). */
  readonly maxBytes: number;
  readonly maxFields: number;
}

/** Grades a field on its own. */
type Grader = (name: string, value: string) => FieldGrade;

/** Decodes the header blocks of a connection, in order (RFC 7541). */
export class HeaderDecoder {
  readonly #grade: Grader;
  readonly #bounds: SectionBounds;
  readonly #static: readonly DecodedField[];
  readonly #table = new DecodingTable(TABLE_BYTES);
  #block: Buffer = NO_BYTES;
  #at = 0;
  #end = 0;
  #fields: string[] = [];
  /** Size of the section so far, with 32 more bytes per field, dropped ones included. */
  #bytes = 0;
  #flaw: string | null = null;
  #pseudo = 0;
  /** True after the first field that is not a pseudo-field. */
  #isBehindPseudo = false;
  #length: string | null = null;
  #priority: string | null = null;
  #neverIndexed: Set<string> | undefined;
  /** The last blocks that did not change the table. */
  #known: KnownBlock[] = [];
  #forgotten = 0;

  constructor(bounds: SectionBounds, grade: Grader) {
    this.#bounds = bounds;
    this.#grade = grade;
    this.#static = staticFields(grade);
  }

  /** Decodes a complete block. Throws Http2Fault; after that, the tables of both sides differ. */
  decode(block: Buffer, from = 0, to: number = block.length): HeaderSection {
    const { version } = this.#table;
    for (const known of this.#known) if (known.isLike(block, from, to, version)) return known.section;
    const section = this.#decode(block, from, to);
    if (this.#table.version === version && to - from <= MAX_REMEMBERED_BYTES)
      this.#remember(block.subarray(from, to), section);
    return section;
  }

  /** Frees what only speeds up repeated blocks. */
  forget(): void {
    this.#known = [];
  }

  #remember(block: Buffer, section: HeaderSection): void {
    const { version } = this.#table;
    if (this.#known.length < REMEMBERED) this.#known.push(new KnownBlock(block, section, version));
    else this.#known[this.#forgotten++ % REMEMBERED]?.set(block, section, version);
  }

  #decode(block: Buffer, from: number, to: number): HeaderSection {
    this.#block = block;
    this.#at = from;
    this.#end = to;
    this.#fields = [];
    this.#bytes = 0;
    this.#flaw = null;
    this.#pseudo = 0;
    this.#isBehindPseudo = false;
    this.#length = null;
    this.#priority = null;
    this.#neverIndexed = undefined;
    this.#readResizes();
    while (this.#at < to) this.#take(this.#readField(block[this.#at] as number));
    // The bytes will be overwritten.
    this.#block = NO_BYTES;
    return {
      fields: this.#fields,
      flaw: this.#flaw,
      pseudo: this.#pseudo,
      length: this.#length,
      priority: this.#priority,
      neverIndexed: this.#neverIndexed ?? NO_NAMES,
    };
  }

  /** Reads the table size changes, which come first (RFC 7541, 4.2). */
  #readResizes(): void {
    while (this.#at < this.#end && ((this.#block[this.#at] as number) & 0xe0) === 0x20) {
      const bytes = this.#integer(0x1f);
      if (bytes > TABLE_BYTES) throw compressionFault('a table larger than agreed');
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
    if (first >= 0x20) throw compressionFault('a change of the table after a field');
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
    return decodedField(name, this.#string(), this.#grade);
  }

  #indexed(index: number): DecodedField {
    const field = index < FIRST_DYNAMIC ? this.#static[index] : this.#table.at(index - FIRST_DYNAMIC);
    if (field === undefined || index === 0) throw compressionFault('an index without an entry');
    return field;
  }

  /** Adds a field to the section, or records why it makes the section malformed. */
  #take({ name, value, grade, bytes }: DecodedField): void {
    this.#bytes += bytes;
    const { maxBytes, maxFields } = this.#bounds;
    if (this.#bytes > maxBytes || this.#fields.length >= 2 * maxFields) this.#flaw ??= TOO_LARGE;
    if (grade > 0) this.#takePseudo(grade);
    else {
      this.#isBehindPseudo = true;
      if (grade !== FieldGrade.FIELD) this.#takeSpecial(value, grade);
    }
    if (this.#flaw === null && grade !== FieldGrade.DROPPED) this.#fields.push(name, value);
  }

  /** RFC 9113, 8.3: pseudo-fields come first, and once. */
  #takePseudo(bit: number): void {
    if (this.#isBehindPseudo) this.#flaw ??= 'a pseudo-header field after a regular field';
    if ((this.#pseudo & bit) !== 0) this.#flaw ??= 'a pseudo-field that comes twice';
    this.#pseudo |= bit;
  }

  #takeSpecial(value: string, grade: FieldGrade): void {
    if (grade === FieldGrade.MALFORMED) this.#flaw ??= 'a field that HTTP/2 forbids';
    else if (grade === FieldGrade.LENGTH) {
      if (this.#length !== null) this.#flaw ??= 'content-length that comes twice';
      this.#length = value;
    } else if (grade === FieldGrade.PRIORITY) this.#priority = value;
  }

  /** Reads an integer (RFC 7541, 5.1). */
  #integer(prefix: number): number {
    const block = this.#block;
    let value = (block[this.#at++] as number) & prefix;
    if (value < prefix) return value;
    for (let shift = 0; shift <= MAX_SHIFT; shift += 7) {
      if (this.#at >= this.#end) throw compressionFault('a header block that ends early');
      const byte = block[this.#at++] as number;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw compressionFault('an integer that is too large');
  }

  /** Reads a string (RFC 7541, 5.2). */
  #string(): string {
    const block = this.#block;
    const first = block[this.#at] as number;
    const length = this.#integer(0x7f);
    const from = this.#at;
    const to = from + length;
    if (to > this.#end) throw compressionFault('a header block that ends early');
    this.#at = to;
    return first >= 0x80 ? decodeHuffman(block, from, to) : block.toString('latin1', from, to);
  }
}

interface DecodedField {
  readonly name: string;
  readonly value: string;
  readonly grade: FieldGrade;
  /** Its size in the table (RFC 7541, 4.1). */
  readonly bytes: number;
}

function decodedField(name: string, value: string, grade: Grader): DecodedField {
  return { name, value, grade: grade(name, value), bytes: name.length + value.length + ENTRY_OVERHEAD };
}

const staticTables = new Map<Grader, readonly DecodedField[]>();

/** Returns the static table with grades, shared by all connections. */
function staticFields(grade: Grader): readonly DecodedField[] {
  const known = staticTables.get(grade);
  if (known !== undefined) return known;
  const fields = STATIC_NAMES.map((name, i) => decodedField(name, STATIC_VALUES[i] as string, grade));
  staticTables.set(grade, fields);
  return fields;
}

/** A block that did not change the table, and its section. */
class KnownBlock {
  #bytes = NO_BYTES;
  #length = 0;
  #version = 0;
  section: HeaderSection;

  constructor(block: Buffer, section: HeaderSection, version: number) {
    this.section = section;
    this.set(block, section, version);
  }

  set(block: Buffer, section: HeaderSection, version: number): void {
    if (block.length > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(block.length);
    this.#length = block.copy(this.#bytes);
    this.section = section;
    this.#version = version;
  }

  /** @param version the version of the table; entries of an older one may have different numbers now */
  isLike(block: Buffer, from: number, to: number, version: number): boolean {
    return (
      version === this.#version &&
      to - from === this.#length &&
      this.#bytes.compare(block, from, to, 0, this.#length) === 0
    );
  }
}

/** The dynamic table of the peer's encoder (RFC 7541, 2.3.2). */
export class DecodingTable {
  /** A ring whose size is a power of two, as large as needed so far. */
  #ring: (DecodedField | undefined)[] = [];
  /** Entries added since the ring last grew; the newest is one place before. */
  #added = 0;
  #length = 0;
  #bytes = 0;
  #maxBytes: number;
  /** Incremented whenever the table changes. */
  version = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Returns the entry at this place, 0 being the newest; undefined if there is none. */
  at(place: number): DecodedField | undefined {
    return place < this.#length ? this.#ring[(this.#added - 1 - place) & (this.#ring.length - 1)] : undefined;
  }

  /** Adds a field. One larger than the table empties it (RFC 7541, 4.4). */
  add(field: DecodedField): void {
    this.version++;
    this.#evict(this.#maxBytes - field.bytes);
    if (field.bytes > this.#maxBytes) return;
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[this.#added++ & (this.#ring.length - 1)] = field;
    this.#length++;
    this.#bytes += field.bytes;
  }

  resize(maxBytes: number): void {
    this.version++;
    this.#maxBytes = maxBytes;
    this.#evict(maxBytes);
  }

  #evict(maxBytes: number): void {
    while (this.#length > 0 && this.#bytes > maxBytes) {
      const place = (this.#added - this.#length) & (this.#ring.length - 1);
      this.#bytes -= this.#ring[place]?.bytes ?? 0;
      // Free its memory at once, or the table would hold far more than its bytes.
      this.#ring[place] = undefined;
      this.#length--;
    }
  }

  #grow(): void {
    const ring = new Array<DecodedField | undefined>(Math.max(8, 2 * this.#length));
    for (let i = 0; i < this.#length; i++) ring[i] = this.at(this.#length - 1 - i);
    this.#ring = ring;
    this.#added = this.#length;
  }
}
