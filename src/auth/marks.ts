import { type Clock, digestOf } from '../core/index.ts';
import { makeRoom } from './make-room.ts';
import type { MarkOptions } from './options.ts';

/** A mark as it is told to other gateways: whose it is stays here. */
export interface AnonymousMark {
  /** Of the subject. */
  readonly digest: string;
  /** Seconds since the epoch. */
  readonly markS: number;
  /** For so long a token may live that it refuses. Milliseconds. */
  readonly forMs: number;
}

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
  #maxLifetimeS = 0;
  /** In the order learnt. Marks name the moment they were set at, so the oldest is over first. */
  readonly #subjects = new Map<string, number>();
  /** What other gateways learnt, by the digest of the subject. */
  readonly #adopted = new Map<string, number>();
  #announce: ((mark: AnonymousMark) => void) | null = null;

  /** @param onEvicted told when a subject's mark is forgotten for want of room */
  constructor(options: MarkOptions, clock: Clock, onEvicted: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onEvicted = onEvicted;
  }

  /** From now on each mark that is learnt here is told to other gateways, which adopt it. */
  announceTo(announce: (mark: AnonymousMark) => void): void {
    this.#announce = announce;
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
    if (!this.#raise(this.#subjects, subject, markS) || this.#announce === null) return;
    this.#announce(this.#anonymous(digestOf(subject), markS));
  }

  /** Takes in a mark that another gateway learnt. Only ever raises one. */
  adopt(digest: string, markS: number): void {
    this.#raise(this.#adopted, digest, markS);
  }

  /** All marks that still refuse anything, as they would be announced now. */
  *running(): Generator<AnonymousMark> {
    for (const [subject, markS] of this.#subjects) yield this.#anonymous(digestOf(subject), markS);
    for (const [digest, markS] of this.#adopted) yield this.#anonymous(digest, markS);
  }

  /** Says how long a verified token lives in all: a mark has to be kept as long as any token that it refuses. */
  observeLife(lifeS: number): void {
    if (lifeS > this.#maxLifetimeS) this.#maxLifetimeS = lifeS;
  }

  /** Whether a token of this subject (null: it names none), issued then, came before a mark. */
  refuse(subject: string | null, issuedAtS: number): boolean {
    if (issuedAtS < this.#issuerMarkS) return true;
    if (subject === null) return false;
    if (this.#subjects.size > 0 && issuedAtS < (this.#subjects.get(subject) ?? 0)) return true;
    return this.#adopted.size > 0 && issuedAtS < (this.#adopted.get(digestOf(subject)) ?? 0);
  }

  get #keepS(): number {
    return Math.max(this.#options.keepMs / 1_000, this.#maxLifetimeS);
  }

  #raise(marks: Map<string, number>, key: string, markS: number): boolean {
    if (!(markS > (marks.get(key) ?? 0))) return false;
    marks.delete(key);
    const nowS = this.#clock.epochMs() / 1_000;
    const keepS = this.#keepS;
    const evicted = makeRoom(marks, this.#options.maxSubjects, mark => mark + keepS < nowS);
    for (let i = 0; i < evicted; i += 1) this.#onEvicted();
    marks.set(key, markS);
    return true;
  }

  #anonymous(digest: string, markS: number): AnonymousMark {
    const forMs = (markS + this.#keepS) * 1_000 - this.#clock.epochMs();
    return { digest, markS, forMs: Math.ceil(forMs) };
  }
}
