/** The priority of a response (RFC 9218, 4). */
export interface Priority {
  /** From 0, the most urgent, to 7. */
  readonly urgency: number;
  readonly isIncremental: boolean;
}

const URGENCY = /(?:^|[,;\s])u\s*=\s*([0-7])(?![\w.])/;
const INCREMENTAL = /(?:^|[,;\s])i(?:\s*=\s*\?1)?\s*(?:[,;]|$)/;
const DEFAULT_URGENCY = 3;
/** A value has two short members; of a longer one, no more is read. */
const MAX_LENGTH = 64;

/** Reads the value of a `priority` field. What cannot be parsed counts as absent. */
export function readPriority(text: string): Priority {
  const value = text.slice(0, MAX_LENGTH);
  const urgency = URGENCY.exec(value)?.[1];
  return {
    urgency: urgency === undefined ? DEFAULT_URGENCY : Number(urgency),
    isIncremental: INCREMENTAL.test(value),
  };
}

/** Priorities of streams that have not been opened yet. */
export class EarlyPriorities {
  readonly #most: number;
  /** Keeps parsed priorities instead of text, which may have 16 KiB each. */
  readonly #values = new Map<number, Priority>();

  /** @param most how many are remembered; others are ignored */
  constructor(most: number) {
    this.#most = most;
  }

  set(stream: number, priority: string): void {
    if (this.#values.size < this.#most || this.#values.has(stream))
      this.#values.set(stream, readPriority(priority));
  }

  /** Returns the priority of a stream being opened, and forgets those of older streams; undefined if there is none. */
  take(stream: number): Priority | undefined {
    const priority = this.#values.get(stream);
    for (const id of this.#values.keys()) if (id <= stream) this.#values.delete(id);
    return priority;
  }
}
