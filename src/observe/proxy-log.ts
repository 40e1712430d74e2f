import type { ProxyListener, UnlistedProxy } from '../core/index.ts';
import type { Logger } from './log/index.ts';

/** Logs senders that look like a proxy missing from `trusted_proxies`. */
export class ProxyLog implements ProxyListener {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  unlistedProxy({ address, field, message }: UnlistedProxy): void {
    this.#log.warn({ type: 'proxy', address, field }, message);
  }
}
