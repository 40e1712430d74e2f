import { OffenceCounter, type OffenceCounterOptions } from './offence-counter.ts';
import type { Restrictions } from './restrictions.ts';

/** Counts the invalid requests of each address and restricts it past the threshold (docs/contract.md, 5.2). */
export class InvalidRequests extends OffenceCounter {
  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'invalid_requests', options);
  }

  /** Notes an invalid request of this address. Do not call it for responses that a restriction caused. */
  note(address: string): void {
    if (!this.isExempt(address)) this.count('address', address, '');
  }
}
