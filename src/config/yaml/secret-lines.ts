import type { PlacedMistake } from './place.ts';

/** With anything but a variable for its value. */
const SECRET_KEY =
  /(client_secret|password)["']?\s*[:=](?!\s*["']?\$\{[A-Za-z_][A-Za-z0-9_]*\}["']?\s*([,}#]|$))/;
/** On the next line. */
const SECRET_AWAITED = /(client_secret|password)["']?\s*:[^A-Za-z0-9]*$/;
const NAME_OF_SECRET = /^(client_secret|(sentinel_)?password)$/;

/**
 * The lines of a file in which a secret stands, although none ever should: its characters may break the file, or make a part of
 * it a key.
 */
export class SecretLines {
  readonly #lines = new Set<number>();

  constructor(text: string) {
    for (const [index, line] of text.split('\n').entries()) {
      if (SECRET_KEY.test(line)) this.#lines.add(index + 1);
      if (SECRET_AWAITED.test(line)) this.#lines.add(index + 2);
    }
  }

  /** Whether a message may repeat this key. */
  mayShow(key: string, line: number): boolean {
    return !this.#lines.has(line) || NAME_OF_SECRET.test(key);
  }

  /** Where the advice is to put a value in quotes, another for a secret: it would be refused with quotes as well. */
  advise(mistake: PlacedMistake): PlacedMistake {
    const isAstray = this.#lines.has(mistake.line) && /must be in quotes|in quotes$/.test(mistake.message);
    return isAstray ? { ...mistake, message: NO_SECRET } : mistake;
  }
}

const NO_SECRET = `this cannot be read, and a secret never stands in this file: write client_secret: "\${NAME}", a variable of the environment`;
