/** A process that can end: what was set for it does not happen any more. */
export interface Owner {
  readonly isAlive: boolean;
}

/** Owns what belongs to nobody who can die. */
export const EVERYONE: Owner = { isAlive: true };

/** Something that will happen. */
export interface Occasion {
  readonly atMs: number;
  /** Breaks ties: what was set first happens first. */
  readonly order: number;
  readonly owner: Owner;
  /** `null` once it is cancelled. */
  run: (() => void) | null;
}

/** What will happen, in a binary heap by time. */
export class Timeline {
  nowMs = 0;
  readonly #heap: Occasion[] = [];
  #order = 0;

  at(atMs: number, owner: Owner, run: () => void): Occasion {
    const occasion = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, owner, run };
    this.#rise(this.#heap.push(occasion) - 1, occasion);
    return occasion;
  }

  /** Takes the next thing that happens, and moves time there; `null` if nothing is left. */
  next(untilMs: number): (Occasion & { run: () => void }) | null {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.atMs > untilMs) return null;
      this.#takeFirst();
      const { run, owner } = first;
      if (run === null || !owner.isAlive) continue;
      this.nowMs = first.atMs;
      return Object.assign(first, { run });
    }
  }

  #takeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [a, b] = [this.#heap[left], this.#heap[left + 1]];
      const isRight = a !== undefined && b !== undefined && isBefore(b, a);
      const child = isRight ? b : a;
      if (child === undefined || !isBefore(child, last)) break;
      this.#heap[at] = child;
      at = isRight ? left + 1 : left;
    }
    this.#heap[at] = last;
  }

  #rise(at: number, occasion: Occasion): void {
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#heap[above];
      if (parent === undefined || !isBefore(occasion, parent)) break;
      this.#heap[at] = parent;
      at = above;
    }
    this.#heap[at] = occasion;
  }
}

function isBefore(one: Occasion, other: Occasion): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
