import type { Fields } from '../../core/index.ts';
import type { ForwardingRules, RequestHead } from '../../http/index.ts';

/** What the header fields of a request say, and the address that it counts as coming from. */
export interface Arrival {
  readonly head: RequestHead;
  readonly clientAddress: string;
  /** What permits, limits and restrictions of the address are kept under. */
  readonly addressKey: string;
  /** The rules it was read by belong to one snapshot, and so does the answer to whether the peer is a trusted proxy. */
  readonly rules: ForwardingRules;
  /** The very array it was read from: a listener hands out the same one for the same bytes. */
  readonly fields: Fields;
}
