import type { PlacedError } from './place.ts';

// Finds characters that the YAML parser does not notice, because it treats them as part of a value.

/** Control characters other than tabs and line ends, Unicode line ends, and code points that are not characters. */
const ODD = /[\x00-\x08\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]|\r(?!\n)|(?<!^)\ufeff/;

/** Characters that look like a space, or are invisible. Text copied from a web page often contains them. */
const BLANKS = /[\u00a0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000]/;

/** Finds the first character that no configuration contains. */
export function oddCharacterIn(text: string): PlacedError[] {
  const found = ODD.exec(text);
  if (found === null) return [];
  const before = text.slice(0, found.index).split('\n');
  const message = found[0].startsWith('\r')
    ? 'a carriage return without a line feed: save the file with LF, or CRLF, as line ends'
    : `the character ${nameOf(found[0])} does not belong in a text file: is this the right file?`;
  return [{ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message }];
}

/** Finds a character that only looks like a space; null if there is no such character. */
export function falseBlankIn(text: string): { readonly index: number; readonly message: string } | null {
  const found = BLANKS.exec(text);
  if (found === null) return null;
  return {
    index: found.index,
    message: `${nameOf(found[0])} looks like a space but is not one: type a space`,
  };
}

function nameOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
