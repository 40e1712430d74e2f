import { onTestFinished, vi } from 'vitest';

/**
 * Sets the system's clock ahead, for everything in this process that asks it, libraries included: gateways, and the providers that
 * issue codes and tokens. It stands still from then on. Timers and monotonic clocks go on. The end of the running test sets it back.
 */
export function moveWorldClock(ms: number): void {
  const now = Date.now() + ms;
  vi.useFakeTimers({ toFake: ['Date'], now });
  onTestFinished(() => void vi.useRealTimers());
}
