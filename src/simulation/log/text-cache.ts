/** A power of two. */
const SLOTS = 65_536;
/** Longer texts are not kept: clients choose the length of a path. */
const MAX_LENGTH = 128;
const PRIME = 0x01000193;

/** Returns the same string for the same bytes, as long as no other text takes its slot. Bytes are read as latin1. */
export class TextCache {
  readonly #texts = new Array<string>(SLOTS).fill('');

  of(bytes: Buffer, from: number, to: number): string {
    if (to - from > MAX_LENGTH) return bytes.toString('latin1', from, to);
    const slot = hash(bytes, from, to) & (SLOTS - 1);
    const known = this.#texts[slot] ?? '';
    if (isText(known, bytes, from, to)) return known;
    const text = bytes.toString('latin1', from, to);
    this.#texts[slot] = text;
    return text;
  }
}

/** FNV-1a in two lanes. Texts that collide take turns, which costs time and nothing else. */
function hash(bytes: Buffer, from: number, to: number): number {
  let even = to - from;
  let odd = 0;
  for (let at = from; at < to; at += 2) {
    even = Math.imul(even ^ (bytes[at] ?? 0), PRIME);
    odd = Math.imul(odd ^ (bytes[at + 1] ?? 0), PRIME);
  }
  const both = even ^ Math.imul(odd, PRIME);
  return both ^ (both >>> 15);
}

/** Whether these bytes, as latin1, are the text. */
export function isText(text: string, bytes: Buffer, from: number, to: number): boolean {
  if (text.length !== to - from) return false;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[from + i]) return false;
  return true;
}
