import type { ExchangeListener, ExchangeRecord } from '../core/index.ts';

/** Several listeners as one; each hears everything, in the order given. */
export class Listeners implements ExchangeListener {
  readonly #listeners: readonly ExchangeListener[];

  constructor(listeners: readonly ExchangeListener[]) {
    this.#listeners = listeners;
  }

  started(): void {
    for (const listener of this.#listeners) listener.started();
  }

  finished(record: ExchangeRecord): void {
    for (const listener of this.#listeners) listener.finished(record);
  }

  untrustedForwarding(): void {
    for (const listener of this.#listeners) listener.untrustedForwarding();
  }
}
