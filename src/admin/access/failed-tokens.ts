import type { Clock } from '../../core/index.ts';
import { defineLimit, type LimitSet, MemoryStore, NO_LIMITS } from '../../limits/index.ts';

/** A person who copies a token wrongly needs a few attempts; guessing one of 32 characters takes more than there are. */
const PER_ADDRESS: LimitSet = {
  ...NO_LIMITS,
  caller: defineLimit({
    role: 'caller',
    bucket: '',
    main: null,
    algorithm: 'window',
    quota: { units: 10, periodMs: 60_000 },
  }),
};
/** Addresses remembered at once. */
const MAX_ADDRESSES = 1_000;

/** Counts wrong tokens by the address that sent them. Bounded; an address without room is not counted. */
export class FailedTokens {
  readonly #store: MemoryStore;

  constructor(clock: Clock) {
    this.#store = new MemoryStore({ clock, maxKeys: MAX_ADDRESSES });
  }

  /** Milliseconds until the address may try a token again; 0: now. */
  waitMs(address: string): number {
    return this.#store.peek(PER_ADDRESS, address, '').retryAfterMs;
  }

  note(address: string): void {
    this.#store.decide(PER_ADDRESS, address, '');
  }
}
