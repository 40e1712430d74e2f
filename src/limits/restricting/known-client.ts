import { ownString } from '../../core/index.ts';
import { digestOfWhom } from './entry.ts';
import type { RestrictedClient } from './restriction.ts';

/**
 * A client that is asked about again and again, as of a connection or a stream. Keeps the digest by which other gateways name it: a
 * hash costs a microsecond, and all streams are asked about twice a second.
 */
export class KnownClient implements RestrictedClient {
  readonly kind: RestrictedClient['kind'];
  readonly key: string;
  /** Made when it is first needed; '' until then. */
  #digest = '';

  constructor(kind: RestrictedClient['kind'], key: string) {
    this.kind = kind;
    this.key = key;
  }

  get digest(): string {
    if (this.#digest === '')
      this.#digest = ownString(digestOfWhom({ kind: this.kind, key: this.key, webhook: '' }));
    return this.#digest;
  }
}
