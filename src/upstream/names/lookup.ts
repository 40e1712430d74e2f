import type { Network } from '../../core/index.ts';
import type { EndpointAddress } from '../transport.ts';

export interface FoundAddress extends EndpointAddress {
  /** Its share of the requests, relative to others: 1 on average. */
  readonly weight: number;
}

/**
 * What a lookup found: groups of addresses, in order of preference. Each is used if none before it can be reached. At least one;
 * none is empty.
 */
export type LookupAnswer = readonly (readonly FoundAddress[])[];

/** Looks up a name; throws if nothing is found. */
export type Lookup = () => Promise<LookupAnswer>;

/**
 * Looks up a name as the system does: with its hosts file and search domains. The family that the system lists first forms the
 * first group, the other one the second.
 */
export function systemLookup({ host, port }: EndpointAddress, { lookup }: Pick<Network, 'lookup'>): Lookup {
  return () =>
    new Promise((resolve, reject) => {
      lookup(host, { all: true, order: 'verbatim' }, (error, found) => {
        if (error !== null) {
          reject(error);
          return;
        }
        const addresses = typeof found === 'string' ? [{ address: found, family: 0 }] : found;
        const tiers = [...Map.groupBy(addresses, ({ family }) => family).values()].map(tier =>
          tier.map(({ address }) => ({ host: address, port, weight: 1 })),
        );
        if (tiers.length === 0) reject(new Error(`${host} has no address`));
        else resolve(tiers);
      });
    });
}

/** The host of a service with SRV records: that of `_http._tcp.api.internal` is `api.internal` (RFC 2782). */
export function serviceHost(name: string): string {
  return name.replace(/^(_[^.]+\.)+/, '');
}
