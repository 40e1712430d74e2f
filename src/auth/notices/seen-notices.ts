import { type Clock, digestOf } from '../../core/index.ts';
import { makeRoom } from '../make-room.ts';

export interface SeenNoticesDependencies {
  readonly clock: Clock;
  /** Whether no gateway has claimed this name for as long; also true where the others cannot be asked. */
  readonly claim: (name: string, forMs: number) => Promise<boolean>;
}

/** Several minutes of a provider that signs everyone out. */
const MAX_SEEN = 100_000;

/**
 * Remembers the ids of genuine notices until they expire, so that each is taken once, by one gateway. When there is no room, the
 * oldest is forgotten: its replay would say what it said before.
 */
export class SeenNotices {
  readonly #dependencies: SeenNoticesDependencies;
  readonly #maxSeen: number;
  /** Until when, by digest. */
  readonly #seen = new Map<string, number>();

  constructor(dependencies: SeenNoticesDependencies, maxSeen = MAX_SEEN) {
    this.#dependencies = dependencies;
    this.#maxSeen = maxSeen;
  }

  get size(): number {
    return this.#seen.size;
  }

  has(issuer: string, id: string): boolean {
    return this.#isSeen(nameOf(issuer, id), this.#dependencies.clock.epochMs());
  }

  /** Whether it is the first of its id. */
  async take(issuer: string, id: string, untilMs: number): Promise<boolean> {
    const { clock, claim } = this.#dependencies;
    const nowMs = clock.epochMs();
    const name = nameOf(issuer, id);
    if (this.#isSeen(name, nowMs)) return false;
    makeRoom(this.#seen, this.#maxSeen, until => until <= nowMs);
    this.#seen.set(name, untilMs);
    return claim(name, Math.ceil(untilMs - nowMs));
  }

  #isSeen(name: string, nowMs: number): boolean {
    return (this.#seen.get(name) ?? 0) > nowMs;
  }
}

function nameOf(issuer: string, id: string): string {
  return digestOf(`${issuer} ${id}`);
}
