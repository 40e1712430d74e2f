/**
 * - `full`: all permits are taken
 * - `share taken`: this key has its share of them
 * - `both`: either alone would refuse it
 */
export type NoPermit = 'full' | 'share taken' | 'both';

/** Counts what is in flight, in all and under each key, up to a cap each. */
export interface Permits {
  /** How many are taken. */
  readonly taken: number;
  /** How many this key has taken. */
  takenBy(key: string): number;
  /** Counts one more and returns null; or returns what is at its cap, and counts nothing. */
  take(key: string, max: number, share: number): NoPermit | null;
  giveBack(key: string): void;
}

/** Makes the permits of this name. Threads and gateways that share permits find them by name. */
export type NewPermits = (name: string) => Permits;

/** Counts for one gateway alone. Holds only keys in use. */
export class ProcessPermits implements Permits {
  readonly #byKey = new Map<string, number>();
  #taken = 0;

  get taken(): number {
    return this.#taken;
  }

  takenBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  take(key: string, max: number, share: number): NoPermit | null {
    const count = this.takenBy(key);
    if (this.#taken >= max) return count >= share ? 'both' : 'full';
    if (count >= share) return 'share taken';
    this.#taken++;
    this.#byKey.set(key, count + 1);
    return null;
  }

  giveBack(key: string): void {
    const count = this.takenBy(key);
    this.#taken--;
    if (count <= 1) this.#byKey.delete(key);
    else this.#byKey.set(key, count - 1);
  }
}

/** Makes permits that nobody else has, whatever their name. */
export const ownPermits: NewPermits = () => new ProcessPermits();
