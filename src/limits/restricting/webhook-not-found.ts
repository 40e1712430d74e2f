import { OffenceCounter, type OffenceCounterOptions } from './offence-counter.ts';
import type { Restrictions } from './restrictions.ts';

/**
 * Counts the upstream's 404s of each address on each webhook. Past the threshold that address is refused on that webhook:
 * it should have stopped calling (docs/contract.md, 5.3). Others who call the webhook are not touched.
 */
export class WebhookNotFound extends OffenceCounter {
  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'webhook_not_found', options);
  }

  /** The webhook was not there. `webhook`: the hash of the route's parameters; their values are secrets. */
  note(address: string, webhook: string): void {
    if (!this.isExempt(address)) this.count('webhook', address, webhook);
  }
}
