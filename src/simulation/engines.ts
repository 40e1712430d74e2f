import type { LimitEngine } from './limit-engine.ts';

/** Gateways whose counters are held at a time. */
const MAX_ENGINES = 32;
/** Gateways remembered whose counters were dropped. */
const MAX_DROPPED = 1_000;

/** The counters of each gateway. When there are too many, those of the gateway silent for longest are dropped. */
export class Engines {
  readonly #make: (nowMs: number) => LimitEngine;
  readonly #engines = new Map<string, LimitEngine>();
  readonly #dropped = new Set<string>();
  #restarts = 0;

  constructor(make: (nowMs: number) => LimitEngine) {
    this.#make = make;
  }

  /** How often a gateway was heard of again after its counters had been dropped. */
  get restarts(): number {
    return this.#restarts;
  }

  of(name: string, nowMs: number): LimitEngine {
    const known = this.#engines.get(name);
    if (known !== undefined) return known;
    if (this.#engines.size >= MAX_ENGINES) this.#dropOne();
    if (this.#dropped.delete(name)) this.#restarts++;
    const engine = this.#make(nowMs);
    this.#engines.set(name, engine);
    return engine;
  }

  #dropOne(): void {
    const [first, ...others] = this.#engines;
    if (first === undefined) return;
    const [name] = others.reduce((one, other) => (heardAtMs(other) < heardAtMs(one) ? other : one), first);
    this.#engines.delete(name);
    if (this.#dropped.size < MAX_DROPPED) this.#dropped.add(name);
  }
}

function heardAtMs([, { clock }]: readonly [string, LimitEngine]): number {
  return clock.epochMs();
}
