import { performance } from 'node:perf_hooks';

/** Where time comes from. Everything but this file is handed one, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the Unix epoch, by the world's clock; may step. For what people and clients read. */
  epochMs(): number;
  /** Milliseconds since some moment, never going back. For measuring how long something took. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
