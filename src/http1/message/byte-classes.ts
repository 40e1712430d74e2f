/** The byte classes of HTTP's grammar as tables: one lookup a byte. */

const TAB = 9;
export const LF = 10;
export const CR = 13;
export const SPACE = 32;
export const COLON = 58;
export const SEMICOLON = 59;

const TOKEN_PUNCTUATION = "!#$%&'*+-.^_`|~";

/** 1 for the bytes of a token, such as a field name. RFC 9110, 5.6.2: `tchar`. */
export const TOKEN = tableOf(
  byte => TOKEN_PUNCTUATION.includes(String.fromCharCode(byte)) || isDigit(byte) || isLetter(byte),
);

/**
 * 1 for the bytes of a field value or a reason phrase. RFC 9110, 5.5 and RFC 9112, 4: visible characters, blanks, and
 * the bytes from 0x80 on, which have no meaning; the tab is the only control byte.
 */
export const TEXT = tableOf(byte => byte === TAB || (byte >= SPACE && byte !== 0x7f));

/** The value of a hexadecimal digit, in either case; -1 for every other byte. RFC 5234, B.1: `HEXDIG`. */
export const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});

/** A space or a tab. RFC 9110, 5.6.3: what `OWS` is made of. */
export function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

function tableOf(holds: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (holds(byte) ? 1 : 0));
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
