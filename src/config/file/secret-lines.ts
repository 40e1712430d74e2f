import type { PlacedError } from './place.ts';

/**
 * Knows which lines of a file contain a secret (none should), and how much of a line messages may repeat. The characters of a
 * secret may break the file, or turn a part of it into a key.
 */
export class SecretLines {
  /** The key of the secret by its line. */
  readonly #lines = new Map<number, string>();
  readonly #key: RegExp | null;
  readonly #keyAndRest: RegExp | null;

  /** @param keys the names of the keys whose values are secrets. */
  constructor(text: string, keys: readonly string[]) {
    const any = `(${keys.join('|')})`;
    this.#key = keys.length === 0 ? null : new RegExp(`^([a-z]+_)?${any}$`);
    this.#keyAndRest = keys.length === 0 ? null : new RegExp(`${any}\\W.*$`, 'is');
    if (keys.length > 0) this.#findLines(text, any);
  }

  /** Quotes a key, shortened to what a message may repeat; `null` if it may be part of a secret. */
  quoteKey(key: string, line: number): string | null {
    if (this.#lines.has(line) && this.#key?.test(key) !== true) return null;
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

  /** Replaces the advice to quote a value if it is a secret: that would be rejected in quotes as well. */
  advise(error: PlacedError): PlacedError {
    const key = this.#lines.get(error.line);
    if (key === undefined || !/must be in quotes|in quotes$/.test(error.message)) return error;
    const message = `this line is not valid YAML, and a secret must not be in this file: write ${key}: "\${NAME}" to read an environment variable`;
    return { ...error, message };
  }

  #findLines(text: string, keys: string): void {
    const variable = `["']?\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}["']?\\s*([,}#]|$)`;
    const withValue = new RegExp(`${keys}["']?\\s*[:=](?!\\s*${variable})`);
    const withValueBelow = new RegExp(`${keys}["']?\\s*:[^A-Za-z0-9]*$`);
    for (const [index, line] of text.split('\n').entries()) {
      const [, key] = withValue.exec(line) ?? [];
      const [, keyAbove] = withValueBelow.exec(line) ?? [];
      if (key !== undefined) this.#lines.set(index + 1, key);
      if (keyAbove !== undefined) this.#lines.set(index + 2, keyAbove);
    }
  }
}
