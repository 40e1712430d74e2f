import type { PlacedMistake } from './place.ts';

/**
 * The lines of a file that hold a secret, although none ever should, and what messages may repeat of all lines: the
 * characters of a secret may break the file, or make a part of the secret a key.
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

  /** A key in quotes, as far as a message may repeat it; null where it may be a part of a secret. */
  quoteKey(key: string, line: number): string | null {
    if (this.#lines.has(line) && this.#key?.test(key) !== true) return null;
    // Behind a ":" or "=" without a space stands the value, which may be a secret.
    const [, name = '', rest = ''] = /^([^:=]*)(.*)$/s.exec(key) ?? [];
    return `"${this.quotable(rest.length > 1 ? `${name}${rest[0]}...` : key)}"`;
  }

  /** As much of a text as a message may repeat: 60 characters, no user and password of a URL, nothing behind a secret's key. */
  quotable(text: string): string {
    const withoutUsers = text.replaceAll(/\S*:\S*@/g, '...@');
    const masked = this.#keyAndRest === null ? withoutUsers : withoutUsers.replace(this.#keyAndRest, '$1...');
    return masked.length > 60 ? `${masked.slice(0, 60)}...` : masked;
  }

  /** Replaces the advice to put a value in quotes where the value is a secret, which would be rejected in quotes as well. */
  advise(mistake: PlacedMistake): PlacedMistake {
    const key = this.#lines.get(mistake.line);
    if (key === undefined || !/must be in quotes|in quotes$/.test(mistake.message)) return mistake;
    const message = `this cannot be read, and this file must not contain secrets: write ${key}: "\${NAME}" to read an environment variable`;
    return { ...mistake, message };
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
