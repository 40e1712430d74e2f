import { createHash, type Hash } from 'node:crypto';

/** What anyone in a world could see, in order. Two worlds with the same hash have the same history. */
export class History {
  readonly #hash: Hash = createHash('sha256');
  readonly #now: () => number;
  readonly #show: ((line: string) => void) | null;
  events = 0;

  /** @param show is handed each line as it is told */
  constructor(now: () => number, show: ((line: string) => void) | null) {
    this.#now = now;
    this.#show = show;
  }

  /** Notes that somebody saw this, at this moment. */
  tell(who: string, what: string): void {
    const line = `${this.#now().toFixed(3)} ${who}: ${what}`;
    this.events++;
    this.#hash.update(line).update('\n');
    this.#show?.(line);
  }

  /** The hash of all that was told so far. */
  get digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }
}
