/** One end of a range of scores. */
export interface Bound {
  readonly score: number;
  readonly isExclusive: boolean;
}

/** Members with scores, ordered by score and then by the bytes of the member. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  readonly #order: string[] = [];

  get size(): number {
    return this.#scores.size;
  }

  score(member: string): number | undefined {
    return this.#scores.get(member);
  }

  /** Gives a member this score; `undefined` takes it out. */
  put(member: string, score: number | undefined): void {
    const before = this.#scores.get(member);
    if (before !== undefined) this.#order.splice(this.#placeOf(before, member), 1);
    if (score === undefined) this.#scores.delete(member);
    else {
      this.#order.splice(this.#placeOf(score, member), 0, member);
      this.#scores.set(member, score);
    }
  }

  /** All members, with their scores. */
  entries(): [string, number][] {
    return this.#order.map(member => [member, this.#scores.get(member) ?? 0]);
  }

  /** The members whose scores are in the range. */
  range(from: Bound, to: Bound): string[] {
    return this.#order.slice(this.#countBelow(from, false), this.#countBelow(to, true));
  }

  /** How many members come before the range, or, if `isEnd`, before what is behind it. */
  #countBelow({ score, isExclusive }: Bound, isEnd: boolean): number {
    const counts = (other: number) => (isEnd !== isExclusive ? other <= score : other < score);
    return this.#firstWhere(member => !counts(this.#scores.get(member) ?? 0));
  }

  #placeOf(score: number, member: string): number {
    return this.#firstWhere(other => {
      const its = this.#scores.get(other) ?? 0;
      return its > score || (its === score && other >= member);
    });
  }

  #firstWhere(isBehind: (member: string) => boolean): number {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(this.#order[middle] ?? '')) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
