import { Counter, type Registry } from 'prom-client';
import type { AdminApiListener, AdminChange, AdminEndpoint, AdminRefusal } from '../../core/index.ts';
import { ADMIN_CHANGES, ADMIN_ENDPOINTS, ADMIN_REFUSALS } from './label-values.ts';

/** Counts what the admin API refuses and changes, and what the admin listener fails to answer. */
export class AdminMetrics implements AdminApiListener {
  readonly #refused: Counter<'reason'>;
  readonly #changes: Counter<'change'>;
  readonly #faults: Counter<'endpoint'>;

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
    this.#faults = new Counter({
      name: 'weir_admin_faults_total',
      help: 'Requests that the admin listener failed to answer through a fault of its own, by what they were for.',
      labelNames: ['endpoint'],
      registers: [registry],
    });
    for (const endpoint of ADMIN_ENDPOINTS) this.#faults.inc({ endpoint }, 0);
    for (const change of ADMIN_CHANGES) this.#changes.inc({ change }, 0);
    for (const reason of ADMIN_REFUSALS) this.#refused.inc({ reason }, 0);
  }

  changed({ what }: AdminChange): void {
    this.#changes.inc({ change: what });
  }

  failed(endpoint: AdminEndpoint): void {
    this.#faults.inc({ endpoint });
  }

  refused(reason: AdminRefusal): void {
    this.#refused.inc({ reason });
  }
}
