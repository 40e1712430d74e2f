import type { PlacedError } from './place.ts';
import { nearestWord } from './suggest.ts';

/** Wrong, missing or surplus letters up to which a misspelt key still counts as that of a secret. */
const MOST_TYPOS = 3;

const VARIABLE = `["']?\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}["']?`;

/**
 * Knows which lines of a file contain a secret (none should), and how much of a line messages may repeat. The characters of a
 * secret may break the file, or turn a part of it into a key.
 */
export class SecretLines {
  /** The key of the secret by its line. */
  readonly #lines = new Map<number, string>();
  /** The lines that have a key with typos; found once a message needs them. */
  #misspelt: ReadonlySet<number> | null = null;
  readonly #text: string;
  readonly #keys: readonly string[];
  readonly #key: RegExp | null;
  readonly #keyAndRest: RegExp | null;

  /** @param keys the names of the keys whose values are secrets. */
  constructor(text: string, keys: readonly string[]) {
    this.#text = text;
    this.#keys = keys;
    const any = `(${keys.join('|')})`;
    this.#key = keys.length === 0 ? null : new RegExp(`^([a-z]+_)?${any}$`);
    this.#keyAndRest = keys.length === 0 ? null : new RegExp(`${any}\\W.*$`, 'is');
    if (keys.length > 0) this.#findLines(text, any);
  }

  /** Quotes a key, shortened to what a message may repeat; `null` if it may be part of a secret. */
  quoteKey(key: string, line: number): string | null {
    this.#misspelt ??= misspeltLines(this.#text, this.#keys);
    const hasSecret = this.#lines.has(line) || this.#misspelt.has(line);
    const isKey =
      this.#key?.test(key) === true || (/^\w+$/.test(key) && nearestWord(key, this.#keys) !== undefined);
    if (hasSecret && !isKey) return null;
    // The part after a ":" or "=" without a space is the value, which may be a secret.
    const [, name = '', rest = ''] = /^([^:=]*)(.*)$/s.exec(key) ?? [];
    return `"${this.quotable(rest.length > 1 ? `${name}${rest[0]}...` : key)}"`;
  }

  /** Shortens a text to what a message may repeat: 60 characters, without a URL's user and password or a secret's value. */
  quotable(text: string): string {
    const withoutUsers = text.replaceAll(/\S*:\S*@/g, '...@');
    const masked = this.#keyAndRest === null ? withoutUsers : withoutUsers.replace(this.#keyAndRest, '$1...');
    return masked.length > 60 ? `${masked.slice(0, 60)}...` : masked;
  }

  /** Replaces a message about a line with a secret: if it advises quotes, in those the secret would be rejected as well. */
  advise(error: PlacedError): PlacedError {
    const key = this.#lines.get(error.line);
    if (key === undefined || !/in quotes|not valid YAML/.test(error.message)) return error;
    const message = `this line is not valid YAML, and a secret must not be in this file: write ${key}: "\${NAME}" to read an environment variable`;
    return { ...error, message };
  }

  #findLines(text: string, keys: string): void {
    const withValue = new RegExp(`${keys}["']?\\s*[:=](?!\\s*${VARIABLE}\\s*([,}#]|$))`);
    const withValueBelow = new RegExp(`${keys}["']?\\s*:[^A-Za-z0-9]*$`);
    for (const [index, line] of text.split('\n').entries()) {
      const [, key] = withValue.exec(line) ?? [];
      const [, keyAbove] = withValueBelow.exec(line) ?? [];
      if (key !== undefined) this.#lines.set(index + 1, key);
      if (keyAbove !== undefined) this.#lines.set(index + 2, keyAbove);
    }
  }
}

/**
 * Finds the lines of `text` with one of `keys` or a misspelt form of it, whatever characters are between its letters. If nothing
 * follows the key, the next line as well. A key with a variable as its value does not count.
 */
function misspeltLines(text: string, keys: readonly string[]): ReadonlySet<number> {
  const lines = new Set<number>();
  if (keys.length === 0) return lines;
  const withVariable = new RegExp(`(${keys.join('|')})["']?[ \\t]*:[ \\t]*${VARIABLE}`, 'g');
  const rest = text.replaceAll(withVariable, '');
  const found = [...rest.matchAll(/[a-z0-9]|\n/gi)].map(([character]) => character.toLowerCase());
  for (const key of keys) {
    const letters = [...key.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()];
    // For each length, the fewest typos with which that many first letters of the key end here (Sellers, 1980).
    let typos = letters.map((_, index) => index + 1);
    let line = 1;
    let ended = false;
    for (const character of found) {
      if (character === '\n') {
        line += 1;
        continue;
      }
      if (ended) lines.add(line);
      typos = nextTypos(typos, letters, character);
      ended = (typos.at(-1) ?? 0) <= MOST_TYPOS;
      if (ended) lines.add(line);
    }
  }
  return lines;
}

function nextTypos(before: readonly number[], letters: readonly string[], character: string): number[] {
  const typos: number[] = [];
  for (const [index, letter] of letters.entries()) {
    const replaced = (before[index - 1] ?? 0) + (letter === character ? 0 : 1);
    typos.push(Math.min(replaced, (before[index] ?? 0) + 1, (typos[index - 1] ?? 0) + 1));
  }
  return typos;
}
