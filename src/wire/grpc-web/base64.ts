const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = 64;
const INVALID = 65;

/** The value of each byte as a character of base64 (RFC 4648, 4). */
const VALUES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  const value = ALPHABET.indexOf(character);
  return value >= 0 ? value : character === '=' ? PADDING : INVALID;
});

/** Characters that encode up to three bytes. */
const GROUP = 4;

/**
 * Decodes base64 in any split, strictly: `Buffer` skips invalid characters. Each group of four characters may be padded, since a
 * sender may have encoded its pieces one by one.
 */
export class Base64Decoder {
  /** The incomplete group: its bits, how many characters it has, and how many of them are padding. */
  #bits = 0;
  #held = 0;
  #padding = 0;

  /** Whether the characters so far form complete groups. */
  get isWhole(): boolean {
    return this.#held === 0;
  }

  /** Decodes the next characters, as far as their groups are complete. Returns `null` if they are not base64. */
  decode(characters: Uint8Array): Buffer | null {
    const bytes = Buffer.allocUnsafe(3 * Math.floor((this.#held + characters.length) / GROUP));
    let end = 0;
    for (let i = 0; i < characters.length; i++) {
      if (!this.#take(VALUES[characters[i] as number] as number)) return null;
      if (this.#held < GROUP) continue;
      bytes[end] = this.#bits >> 16;
      bytes[end + 1] = this.#bits >> 8;
      bytes[end + 2] = this.#bits;
      end += 3 - this.#padding;
      this.#bits = 0;
      this.#held = 0;
      this.#padding = 0;
    }
    return bytes.subarray(0, end);
  }

  /** Adds a character to the group. Returns false if it is invalid there. */
  #take(value: number): boolean {
    if (value === INVALID) return false;
    if (value === PADDING) {
      if (this.#held < 2) return false;
      this.#padding++;
    } else if (this.#padding > 0) return false;
    this.#bits = (this.#bits << 6) | (value & 63);
    this.#held++;
    return true;
  }
}
