import { Counter, type Registry } from 'prom-client';
import type { AdminApiListener, AdminChange, AdminRefusal } from '../../core/index.ts';
import { ADMIN_CHANGES, ADMIN_REFUSALS } from './label-values.ts';

/** Counts what the admin API refuses and changes. */
export class AdminMetrics implements AdminApiListener {
  readonly #refused: Counter<'reason'>;
  readonly #changes: Counter<'change'>;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: 'weir_admin_refused_total',
      help: 'Requests that the admin API refused, by reason: wrong_token, too_many_tokens, no_token or foreign_origin.',
      labelNames: ['reason'],
      registers: [registry],
    });
    this.#changes = new Counter({
      name: 'weir_admin_changes_total',
      help: 'Changes by the admin API: restriction_added, restriction_lifted or buckets_reset.',
      labelNames: ['change'],
      registers: [registry],
    });
    for (const change of ADMIN_CHANGES) this.#changes.inc({ change }, 0);
    for (const reason of ADMIN_REFUSALS) this.#refused.inc({ reason }, 0);
  }

  changed({ what }: AdminChange): void {
    this.#changes.inc({ change: what });
  }

  refused(reason: AdminRefusal): void {
    this.#refused.inc({ reason });
  }
}
