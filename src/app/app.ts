import type { ConfigWatcherOptions, HostPort } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import type { Logger } from '../observe/index.ts';
import type { BoundAddresses } from '../server/index.ts';

/** What a gateway needs besides its configuration. */
export interface AppOptions {
  readonly clock: Clock;
  readonly log: Logger;
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
