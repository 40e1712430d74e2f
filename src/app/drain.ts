import type { Listeners } from '../server/index.ts';

/**
 * Has clients leave during `delayMs`, then lets what runs finish for at most `drainMs`, and cuts off the rest. False: something
 * was cut off.
 */
export async function drainListeners(
  listeners: Listeners,
  delayMs: number,
  drainMs: number,
): Promise<boolean> {
  if (delayMs > 0) {
    listeners.retire(delayMs);
    await pause(delayMs);
  }
  const inTime = await atMost(drainMs, listeners.drain());
  if (!inTime) listeners.destroy();
  return inTime;
}

/** Waits for `work`, but no longer than `ms`. False: it took longer. */
export function atMost(ms: number, work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => true), pause(ms).then(() => false)]);
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms).unref();
  });
}
