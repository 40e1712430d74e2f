import type { Clock } from '../../core/index.ts';
import type { Connect } from '../connect.ts';
import type { UpstreamOptions } from '../options.ts';
import type { SlabStore } from './slab.ts';

/** What the connections of a pool share. */
export interface ConnectionShare<Connection> {
  readonly options: UpstreamOptions;
  readonly clock: Clock;
  readonly slabs: SlabStore;
  readonly connect: Connect;
  /** The connection may carry another request. */
  idle(connection: Connection): void;
  /** The connection may carry another request once late bytes of its last response would have shown. */
  rest(connection: Connection): void;
  /** The connection is closed. */
  gone(connection: Connection): void;
  /** The connection broke as soon as it was used again: it had been closed unnoticed. */
  stale(): void;
}
