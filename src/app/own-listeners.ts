import type { Snapshot } from '../config/index.ts';
import { finishedWithin, pause, type TimerClock } from '../core/index.ts';
import type { BoundAddresses, Listeners } from '../server/index.ts';
import type { Service } from './app.ts';

/** Serves clients by listeners of this thread. */
export class OwnListeners implements Service {
  readonly #listeners: Listeners;
  readonly #clock: TimerClock;

  constructor(listeners: Listeners, clock: TimerClock) {
    this.#listeners = listeners;
    this.#clock = clock;
  }

  get connections(): number {
    return this.#listeners.connections;
  }

  listen(shared?: BoundAddresses): Promise<BoundAddresses> {
    return this.#listeners.listen(shared);
  }

  use(snapshot: Snapshot): void {
    this.#listeners.use(snapshot);
  }

  async drain(delayMs: number, drainMs: number): Promise<boolean> {
    if (delayMs > 0) {
      this.#listeners.retire(delayMs);
      await pause(delayMs, this.#clock);
    }
    const inTime = await finishedWithin(drainMs, this.#listeners.drain(), this.#clock);
    if (!inTime) this.#listeners.destroy();
    return inTime;
  }

  destroy(): void {
    this.#listeners.destroy();
  }
}
