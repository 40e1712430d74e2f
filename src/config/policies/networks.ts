import { z } from 'zod';
import { AddressSet, isEmbedded } from '../../wire/http/index.ts';
import { compareNeutral, compareStrictness } from '../difference.ts';
import { network } from '../values/index.ts';
import { routePolicy } from './policy.ts';

/** The networks of a route's clients. */
export interface NetworksModel {
  /** True if only these networks may use the route; false if all others may. */
  readonly areAllowed: boolean;
  readonly addresses: AddressSet;
  readonly written: string;
}

const ONE = 'expected { allow: [10.0.0.0/8] } or { deny: [192.0.2.0/24] }, one of the two';

const networks = () =>
  z.array(network(), { error: 'expected a list of networks such as [10.0.0.0/8]' }).min(1, {
    error: 'an empty list names no network: leave it out',
  });

export const routeNetworks = routePolicy({
  keys: {
    networks: z
      .strictObject(
        {
          allow: networks().optional().describe('The networks and addresses that may use it.'),
          deny: networks().optional().describe('In place of allow: those that may not.'),
        },
        { error: ONE },
      )
      .refine(({ allow, deny }) => (allow === undefined) !== (deny === undefined), { error: ONE })
      .optional()
      .describe(
        'Which clients may use it, by their addresses: those of the networks under allow, or all but those under deny. Others get 403, before their tokens are looked at.',
      ),
  },
  compile: ({ networks }): { readonly networks: NetworksModel | null } => {
    if (networks === undefined) return { networks: null };
    const { allow, deny = [] } = networks;
    const list = allow ?? deny;
    const areAllowed = allow !== undefined;
    return { networks: { areAllowed, addresses: new AddressSet(list), written: list.join(', ') } };
  },
  section: 'caller',
  describe: ({ networks }) => ({ networks: networks && `${inWords(networks)}, else 403` }),
  compare: ({ networks: now }, { networks: before }) =>
    now === null || before === null
      ? compareStrictness(now !== null, before !== null, `takes clients ${inWords(now ?? before)}`)
      : compareNeutral('networks', inWords(now), inWords(before)),
});

/**
 * Whether a client may use a route with these networks. An IPv4 address embedded in an IPv6 address is denied like the IPv4 address
 * itself, but never allowed like it, because it can be forged.
 *
 * @param key the key that the address is counted under (`addressKey`)
 */
export function admits({ areAllowed, addresses }: NetworksModel, address: string, key: string): boolean {
  if (areAllowed || addresses.has(address)) return addresses.has(address) === areAllowed;
  return !isEmbedded(address, key) || !addresses.has(key);
}

function inWords(networks: NetworksModel | null): string {
  if (networks === null) return 'from anywhere';
  return `${networks.areAllowed ? 'of' : 'not of'} ${networks.written}`;
}
