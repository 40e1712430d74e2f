import { Counter, type Registry } from 'prom-client';
import type { AdminApiListener, AdminRefusal } from '../../core/index.ts';
import { ADMIN_REFUSALS } from './label-values.ts';

/** Counts what the admin API refuses. */
export class AdminMetrics implements AdminApiListener {
  readonly #refused: Counter<'reason'>;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: 'weir_admin_refused_total',
      help: 'Requests that the admin API refused, by reason: wrong_token, too_many_tokens, no_token or foreign_origin.',
      labelNames: ['reason'],
      registers: [registry],
    });
    for (const reason of ADMIN_REFUSALS) this.#refused.inc({ reason }, 0);
  }

  refused(reason: AdminRefusal): void {
    this.#refused.inc({ reason });
  }
}
