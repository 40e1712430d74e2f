import type { TimeoutsModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';

/** What the connections of a listener share. */
export interface ListenerState {
  readonly gateway: Gateway;
  readonly clock: Clock;
  readonly timeouts: TimeoutsModel;
  /** Value of `Keep-Alive` on answers that keep their connection. */
  readonly keepAliveHint: string;
  /** While draining, an answer is the last of its connection. */
  draining: boolean;
}
