import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';

/** A network such as `10.1.0.0/16`, or one address. */
export function network() {
  const error = 'expected a network or an address such as 10.1.0.0/16, 2001:db8::/32 or 192.0.2.7';
  return z
    .string({ error })
    .regex(/^[0-9A-Fa-f:.]+(\/\d{1,3})?$/, { error, abort: true })
    .refine(isNetwork, { error });
}

function isNetwork(text: string): boolean {
  const [address = '', prefix] = text.split('/');
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  return bits > 0 && (prefix === undefined || (Number(prefix) <= bits && !/^0\d/.test(prefix)));
}
