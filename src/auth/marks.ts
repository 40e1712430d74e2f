import { type Clock, digestOf } from '../core/index.ts';
import { makeRoom } from './make-room.ts';
import type { MarkOptions } from './options.ts';

/** A mark as other gateways receive it, without the name of its subject. */
export interface AnonymousMark {
  /** Of the subject. */
  readonly digest: string;
  /** Seconds since the epoch. */
  readonly markS: number;
  /** How long a token that it refuses may still live, in milliseconds. */
  readonly forMs: number;
}

/**
 * Not-before marks: a token issued before its mark is refused; one issued in the same second passes, as it does at the
 * provider. There is one mark for all tokens of the issuer, and one per subject for which the gateway learnt one. Marks
 * outlive a reload.
 */
export class NotBeforeMarks {
  readonly #options: MarkOptions;
  readonly #clock: Clock;
  readonly #onEvicted: () => void;
  #issuerMarkS = 0;
  #maxLifetimeS = 0;
  /** In the order learnt. A mark is the moment at which it was set, so the oldest expires first. */
  readonly #subjects = new Map<string, number>();
  /** Learnt by other gateways, by the digest of the subject. */
  readonly #adopted = new Map<string, number>();
  #announce: ((mark: AnonymousMark) => void) | null = null;

  /** @param onEvicted called when a subject's mark is dropped for lack of room */
  constructor(options: MarkOptions, clock: Clock, onEvicted: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onEvicted = onEvicted;
  }

  /** Announces each mark learnt from now on, for other gateways to adopt. */
  announceTo(announce: (mark: AnonymousMark) => void): void {
    this.#announce = announce;
  }

  /** Sets the issuer's mark, in seconds since the epoch; 0: none. May lower it. */
  setIssuerMark(markS: number): void {
    this.#issuerMarkS = markS;
  }

  /**
   * Takes in the mark that came with a redeemed code. The provider sends the largest of several, which may be this subject's
   * own, so it applies to this subject only. 0 means none, and a late response must not lower a newer mark.
   */
  learn(subject: string, markS: number): void {
    if (!this.#raise(this.#subjects, subject, markS) || this.#announce === null) return;
    this.#announce(this.#anonymous(digestOf(subject), markS));
  }

  /** Takes in a mark that another gateway learnt. Never lowers one. */
  adopt(digest: string, markS: number): void {
    this.#raise(this.#adopted, digest, markS);
  }

  /** All marks, as they would be announced now. */
  *running(): Generator<AnonymousMark> {
    for (const [subject, markS] of this.#subjects) yield this.#anonymous(digestOf(subject), markS);
    for (const [digest, markS] of this.#adopted) yield this.#anonymous(digest, markS);
  }

  /** Notes the lifetime of a verified token: a mark must be kept as long as any token that it refuses. */
  observeLife(lifeS: number): void {
    if (lifeS > this.#maxLifetimeS) this.#maxLifetimeS = lifeS;
  }

  /** Whether a token issued at that time predates a mark. `subject` is null when the token names none. */
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
