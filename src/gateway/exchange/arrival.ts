import type { Fields } from '../../core/index.ts';
import type { ForwardingRules, RequestHead } from '../../http/index.ts';
import type { KnownClient } from '../../limits/index.ts';

/** What the header fields of a request say, and its client's address. */
export interface Arrival {
  readonly head: RequestHead;
  readonly clientAddress: string;
  /** The key for the address's permits, limits and restrictions. */
  readonly addressKey: string;
  /** The address as restrictions know it. */
  readonly address: KnownClient;
  /** The rules it was read by. They belong to one snapshot, as does the decision whether the peer is a trusted proxy. */
  readonly rules: ForwardingRules;
  /** The array it was read from: a listener hands out the same array again for the same bytes. */
  readonly fields: Fields;
}
