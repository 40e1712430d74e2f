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
  /** A reload may change them. */
  timeouts: TimeoutsModel;
  trustedProxies: AddressSet;
  /** Maximum bytes of a request's head, with its request line. */
  headBytes: number;
  /** Most fields of a request. */
  fields: number;
  http2: Http2Model;
  /** Value of `Keep-Alive` on responses that keep their connection. */
  keepAliveHint: string;
  /** While draining, a response is the last of its connection. */
  draining: boolean;
}
