import type { FieldGrade } from '../field-grade.ts';
import { ENTRY_OVERHEAD } from './encoding-table.ts';

/** A field as it was decoded. */
export interface DecodedField {
  readonly name: string;
  readonly value: string;
  readonly grade: FieldGrade;
  /** RFC 7541, 4.1. */
  readonly bytes: number;
}

/** The dynamic table of the other side's encoder (RFC 7541, 2.3.2). */
export class DecodingTable {
  readonly #ring: (DecodedField | undefined)[];
  readonly #mask: number;
  /** How many were ever added; the newest is at this place less 1. */
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

  /** The entry at this place, counted from 0, the newest. Undefined: there is none. */
  at(place: number): DecodedField | undefined {
    return place < this.#length ? this.#ring[(this.#added - 1 - place) & this.#mask] : undefined;
  }

  /** RFC 7541, 4.4: one that is larger than the table empties it. */
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
      // Its memory goes at once, or the table would hold far more than its bytes.
      this.#ring[place] = undefined;
      this.#length--;
    }
  }
}
