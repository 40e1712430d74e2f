import type { EventCounterOptions } from './event-counter.ts';
import { OffenceCounter } from './offence-counter.ts';
import type { Restrictions } from './restrictions.ts';

/** Counts the invalid requests of each address and restricts it past the threshold (specification, section 8). */
export class InvalidRequests extends OffenceCounter {
  readonly #restrictions: Restrictions;

  constructor(restrictions: Restrictions, options: EventCounterOptions) {
    super(options);
    this.#restrictions = restrictions;
  }

  /** A request of this address was invalid. Answers that were given because of a restriction are not noted. */
  note(address: string): void {
    if (this.#restrictions.isExempt(address)) return;
    const restrictForMs = this.count(address, '');
    if (restrictForMs > 0) this.#restrictions.restrictAddress(address, 'invalid_requests', restrictForMs);
  }
}
