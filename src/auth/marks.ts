import type { Clock } from '../core/index.ts';
import { makeRoom } from './make-room.ts';
import type { MarkOptions } from './options.ts';

/**
 * Not-before marks: a token issued before a mark is refused, one issued in the same second passes, as at the provider that
 * sets it. There is one mark for all tokens of the issuer, and one for each subject of whom one was learnt. They are to
 * outlive a reload.
 */
export class NotBeforeMarks {
  readonly #options: MarkOptions;
  readonly #clock: Clock;
  readonly #onEvicted: () => void;
  #issuerMarkS = 0;
  #longestLifeS = 0;
  /** In the order learnt. Marks name the moment they were set at, so the oldest is over first. */
  readonly #subjects = new Map<string, number>();

  /** @param onEvicted told when a subject's mark is forgotten for want of room */
  constructor(options: MarkOptions, clock: Clock, onEvicted: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onEvicted = onEvicted;
  }

  /** Subjects with a mark of their own. */
  get size(): number {
    return this.#subjects.size;
  }

  /** Sets the issuer's mark, in seconds since the epoch; 0: none. May lower it. */
  setIssuerMark(markS: number): void {
    this.#issuerMarkS = markS;
  }

  /**
   * Takes in the mark that came with a redeemed code. It is the largest of several, perhaps this subject's alone, so it
   * counts for the subject alone. 0 says nothing, and an answer that was long on its way must not lower a newer mark.
   */
  learn(subject: string, markS: number): void {
    if (!(markS > (this.#subjects.get(subject) ?? 0))) return;
    this.#subjects.delete(subject);
    const nowS = this.#clock.epochMs() / 1_000;
    const keepS = Math.max(this.#options.keepMs / 1_000, this.#longestLifeS);
    const evicted = makeRoom(this.#subjects, this.#options.maxSubjects, mark => mark + keepS < nowS);
    for (let i = 0; i < evicted; i += 1) this.#onEvicted();
    this.#subjects.set(subject, markS);
  }

  /** Says how long a verified token lives in all: a mark has to be kept as long as any token that it refuses. */
  observeLife(lifeS: number): void {
    if (lifeS > this.#longestLifeS) this.#longestLifeS = lifeS;
  }

  /** Whether a token of this subject (null: it names none), issued then, came before a mark. */
  refuse(subject: string | null, issuedAtS: number): boolean {
    if (issuedAtS < this.#issuerMarkS) return true;
    if (subject === null || this.#subjects.size === 0) return false;
    return issuedAtS < (this.#subjects.get(subject) ?? 0);
  }
}
