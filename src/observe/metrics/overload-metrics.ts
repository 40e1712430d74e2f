import { Counter, Gauge, type Registry } from 'prom-client';
import type { OverloadListener } from '../../core/index.ts';

/** Shows when the gateway sheds. What it refuses is in `weir_caps_met_total`. */
export class OverloadMetrics implements OverloadListener {
  readonly #overloaded: Gauge;
  readonly #episodes: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#overloaded = new Gauge({
      name: 'weir_overloaded',
      help: '1 while the event loop is too far behind and new requests may be answered 503, else 0.',
      registers,
    });
    this.#episodes = new Counter({
      name: 'weir_overloads_total',
      help: 'Times that the event loop fell too far behind, and new requests were answered 503 for a while.',
      registers,
    });
  }

  began(): void {
    this.#overloaded.set(1);
    this.#episodes.inc();
  }

  ended(): void {
    this.#overloaded.set(0);
  }
}
