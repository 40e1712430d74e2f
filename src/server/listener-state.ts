import type { Http2Model, TimeoutsModel } from '../config/index.ts';
import type { ConnectionListener, Random, TimerClock } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { AddressSet } from '../http/index.ts';
import type { DateField } from './client-connection.ts';

/** What the connections of a listener share. */
export interface ListenerState {
  readonly gateway: Gateway;
  readonly clock: TimerClock;
  /** Spreads what would otherwise happen to all connections at once. */
  readonly random: Random;
  readonly date: DateField;
  readonly connectionListener: ConnectionListener;
  /** The timeouts, which a reload may change, as all that follows. */
  timeouts: TimeoutsModel;
  trustedProxies: AddressSet;
  /** Most bytes of a request's head, its request line included. */
  headBytes: number;
  /** Most fields of a request. */
  fields: number;
  http2: Http2Model;
  /** The value of `Keep-Alive` on responses that keep their connection. */
  keepAliveHint: string;
  /** True while draining: each response is the last of its connection. */
  draining: boolean;
}
