import { z } from 'zod';
import { network } from './addresses.ts';

/** A caller, by each claim that identifies it: `{ client: web, subject: alice }`. The checks compare them with gateway.yaml. */
export function callerEntry() {
  const error = 'expected a caller such as { client: web, subject: alice }';
  const text = 'expected text, in quotes if it is a number';
  return z.record(z.string(), z.string({ error: text }).min(1, { error: text }), { error });
}

/** Addresses or a caller. */
export function networkOrCaller() {
  const error =
    'expected a network such as 192.0.2.0/24, or a caller such as { client: web, subject: alice }';
  return z.union([network(), callerEntry()], { error });
}

/** A network that clients can be told apart by: those of IPv6 are known by their /64. */
export function blockableNetwork() {
  return network().refine(text => !text.includes(':') || Number(text.split('/')[1] ?? 128) <= 64, {
    error: 'a client of IPv6 is known by its /64: write a network such as 2001:db8:1:2::/64',
  });
}
