import type { ConfigWatcherOptions, HostPort } from '../config/index.ts';
import type { NewPermits, System, TimerClock } from '../core/index.ts';
import type { LocalStore } from '../limits/index.ts';
import type { Logger } from '../observe/index.ts';
import type { NewBudget, ThreadPart } from '../runtime/index.ts';
import type { BoundAddresses, Listeners } from '../server/index.ts';

/** What gateways of one machine may share. The maker of a part starts and stops it. */
export interface SharedParts {
  /** The part of this thread in its process. Default: it is alone, and informs others through Redis, if the configuration names one. */
  readonly thread?: ThreadPart;
  /**
   * Makes what counts connections, handshakes, requests in flight (in all, by address, by upstream and its callers), requests that are
   * held, and those to providers, up to their caps. Default: each gateway counts its own.
   */
  readonly newPermits?: NewPermits;
  /** Counts requests against their limits. Default: each gateway counts in its own memory. */
  readonly counters?: LocalStore;
  /** Makes the budgets of addresses for wrong tokens and notices. Default: each gateway has its own. */
  readonly newBudget?: NewBudget;
}

/** What a gateway needs besides its configuration. */
export interface AppOptions {
  readonly system: System;
  readonly log: Logger;
  /** What this gateway shares with others. Default: nothing but what Redis carries. */
  readonly shared?: SharedParts;
  /** Where the configuration came from, so that changes of its files are followed. Without it, the configuration never changes. */
  readonly source?: Pick<ConfigWatcherOptions, 'path' | 'env' | 'loaded' | 'settleMs' | 'pollMs'>;
}

/** A running gateway. */
export interface App {
  /** The bound addresses, with the actual port where the configuration says 0. */
  readonly addresses: BoundAddresses & { readonly admin: HostPort | null };
  /** Reads the configuration files now. Resolves once they are applied, refused or waiting; never rejects. */
  reload(): Promise<void>;
  /**
   * Fails readiness at once, asks clients during `shutdown.delay` to connect anew, then stops accepting and lets requests in
   * flight finish. Resolves to false when `shutdown.drain` ran out and the remaining ones were cut off. A second call joins
   * the first.
   */
  drain(): Promise<boolean>;
}

/**
 * Asks clients to leave during `delayMs`, then lets what runs finish for at most `drainMs`, and cuts off what is left. Returns
 * false if something was cut off.
 */
export async function drainListeners(
  listeners: Listeners,
  delayMs: number,
  drainMs: number,
  clock: TimerClock,
): Promise<boolean> {
  if (delayMs > 0) {
    listeners.retire(delayMs);
    await pause(delayMs, clock);
  }
  const inTime = await finishedWithin(drainMs, listeners.drain(), clock);
  if (!inTime) listeners.destroy();
  return inTime;
}

/** Waits for `work`, but no longer than `ms`. Returns false if it took longer. */
export function finishedWithin(ms: number, work: Promise<unknown>, clock: TimerClock): Promise<boolean> {
  return Promise.race([work.then(() => true), pause(ms, clock).then(() => false)]);
}

function pause(ms: number, clock: TimerClock): Promise<void> {
  return new Promise(resolve => {
    clock.after(ms, resolve);
  });
}
