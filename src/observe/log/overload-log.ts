import type { OverloadListener } from '../../core/index.ts';
import type { Logger } from './logger.ts';

/** Logs the beginning and the end of each episode, and nothing for a request. */
export class OverloadLog implements OverloadListener {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  began(delayMs: number): void {
    const line = { type: 'overload', delayMs: Math.round(delayMs) };
    this.#log.error(line, 'more requests come than this gateway can serve: it answers some with 503');
  }

  ended(lastedMs: number, refused: number): void {
    const line = { type: 'overload', lastedMs: Math.round(lastedMs), refused };
    this.#log.info(line, 'the gateway serves all requests again');
  }
}
