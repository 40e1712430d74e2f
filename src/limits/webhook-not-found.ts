import type { EventCounterOptions } from './event-counter.ts';
import { OffenceCounter } from './offence-counter.ts';
import type { Restrictions } from './restrictions.ts';

/**
 * Counts the upstream's 404s of each address on each webhook. Past the threshold that address is refused on that webhook:
 * it should have stopped calling (specification, section 7). Others who call the webhook are not touched.
 */
export class WebhookNotFound extends OffenceCounter {
  readonly #restrictions: Restrictions;

  constructor(restrictions: Restrictions, options: EventCounterOptions) {
    super(options);
    this.#restrictions = restrictions;
  }

  /** The webhook was not there. `webhook`: the hash of the route's parameters; their values are secrets. */
  note(address: string, webhook: string): void {
    if (this.#restrictions.isExempt(address)) return;
    const restrictForMs = this.count(address, webhook);
    if (restrictForMs > 0) {
      this.#restrictions.restrictWebhook(address, webhook, 'webhook_not_found', restrictForMs);
    }
  }
}
