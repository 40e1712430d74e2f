import { Gauge, type Registry } from 'prom-client';

/** How many revocations are remembered, of all providers, read at each scrape. */
export interface RevocationView {
  readonly sessions: number;
  readonly subjects: number;
}

/** Registers how many revocations this gateway remembers. */
export function observeRevocations(registry: Registry, revocations: () => RevocationView): void {
  new Gauge({
    name: 'weir_revocations',
    help: 'Revocations that this gateway remembers: sessions that ended, and subjects whose older tokens are refused.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      const { sessions, subjects } = revocations();
      this.set({ kind: 'session' }, sessions);
      this.set({ kind: 'subject' }, subjects);
    },
  });
}
