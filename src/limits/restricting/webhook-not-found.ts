import { OffenceCounter, type OffenceCounterOptions } from './offence-counter.ts';
import type { Restrictions } from './restrictions.ts';

/**
 * Counts the upstream's 404s per address and webhook. Past the threshold the address is refused on that webhook: it should
 * have stopped calling (docs/contract.md, 5.3). Other addresses are not affected.
 */
export class WebhookNotFound extends OffenceCounter {
  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'webhook_not_found', options);
  }

  /** Notes a 404. `webhook`: the hash of the route's parameters, whose values are secrets. */
  note(address: string, webhook: string): void {
    if (!this.isExempt(address)) this.count('webhook', address, webhook);
  }
}
