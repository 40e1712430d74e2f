import { z } from 'zod';
import { UNIX_PEER } from '../../core/index.ts';
import { AddressSet } from '../../wire/http/index.ts';
import { textsIn } from '../file/index.ts';
import { network } from '../values/index.ts';
import { setting } from './setting.ts';

/** One address in each IPv4 /8 and in each registry's part of IPv6: no organisation's network contains two of them. */
const FAR_APART = [
  ...Array.from({ length: 223 }, (_, index) => `${index + 1}.0.0.1`),
  ...['2001::1', '2400::1', '2600::1', '2800::1', '2a00::1', '2c00::1'],
];

const sound = network();
const ENTRY_EXPECTED = 'expected a network or an address such as 10.1.0.0/16 or 192.0.2.7, or unix';

export const trustedProxies = setting({
  keys: {
    trusted_proxies: z
      .union(
        [
          z.literal('none').transform(() => [] as string[]),
          z.array(z.union([z.literal(UNIX_PEER), sound], { error: ENTRY_EXPECTED })),
        ],
        {
          error: 'expected the word none, or a list of networks such as [10.1.0.0/16]',
        },
      )
      .prefault('none')
      .describe(
        'Networks and addresses of the proxies in front of the gateway, or none. unix: those that connect to a Unix socket. Only their X-Forwarded-* and X-Request-Id are trusted.',
      ),
  },
  // Warns about networks that span unrelated owners: a trusted address can claim to be any client.
  check({ trusted_proxies }, file) {
    for (const [index, text] of textsIn(trusted_proxies).entries()) {
      if (!sound.safeParse(text).success) continue;
      const listed = new AddressSet([text]);
      if (FAR_APART.filter(address => listed.has(address)).length < 2) continue;
      const message =
        'this network includes addresses that are not yours, and anyone there could claim to be any client: list only your own proxies';
      file.warn(['trusted_proxies', index], message);
    }
  },
  compile: ({ trusted_proxies }) => ({ trustedProxies: new AddressSet(trusted_proxies) }),
});
