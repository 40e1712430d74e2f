import type { Owner } from '../../core/index.ts';
import { KnownClient } from '../../limits/index.ts';
import type { AddressKeying, AddressSet } from '../../wire/http/index.ts';
import { addressKey, ownersOf, restrictionKey } from '../../wire/http/index.ts';

/**
 * A client's address, with the keys that it is counted and restricted under. Kept while the requests of a connection share it.
 */
export class ClientAddress {
  /** The address as received. This is the form in logs and in what upstreams get. */
  readonly address: string;
  /** The key for its permits and limits. */
  readonly key: string;
  /** The owners of the key: they share its permits. */
  readonly owners: readonly Owner[];
  /** The client in the form that restrictions look up. */
  readonly restricted: KnownClient;

  /** @param spared addresses that are never restricted */
  constructor(address: string, keying: AddressKeying, spared: AddressSet) {
    this.address = address;
    this.key = addressKey(address, keying);
    this.owners = ownersOf(this.key);
    this.restricted = new KnownClient('address', restrictionKey(address, this.key, spared));
  }
}
