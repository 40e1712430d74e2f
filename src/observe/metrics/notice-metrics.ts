import { Counter, type Registry } from 'prom-client';
import type { NoticeEvent, NoticeKind, NoticeListener } from '../../core/index.ts';
import { NOTICE_OUTCOMES } from './label-values.ts';

/** Counts what providers tell the gateway unasked. */
export class NoticeMetrics implements NoticeListener {
  readonly #received: Counter<'notice' | 'outcome'>;

  constructor(registry: Registry) {
    this.#received = new Counter({
      name: 'weir_notices_total',
      help: 'Not-before pushes and back-channel logouts received, by outcome: accepted, outdated, refused, undecided or put_off.',
      labelNames: ['notice', 'outcome'],
      registers: [registry],
    });
  }

  /** Follows the configuration. */
  use(kinds: readonly NoticeKind[]): void {
    for (const notice of kinds)
      for (const outcome of NOTICE_OUTCOMES) this.#received.inc({ notice, outcome }, 0);
  }

  noticeReceived({ kind, outcome }: NoticeEvent): void {
    this.#received.inc({ notice: kind, outcome });
  }
}
