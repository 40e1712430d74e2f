import { type Fields, firstValue } from '../../core/index.ts';
import type { AskedAddress } from './client-location.ts';
import type { RequestHead } from './request-head.ts';

/** Fields that say where a request came from, which the gateway writes if the operator wants it to. */
export const SENT_FIELDS = ['X-Real-IP', 'X-Forwarded-Port', 'X-Forwarded-Prefix', 'X-Script-Name'] as const;
export type SentField = (typeof SENT_FIELDS)[number];

/** What these fields tell about a request. */
interface Sent {
  readonly address: string;
  /** Where the client sent its request. */
  readonly client: AskedAddress;
  /** The segments that the service does not get, as they matched; '' for none. */
  readonly prefix: string;
}

/** Returns these fields of a request. A trusted proxy's own `X-Forwarded-Port` stays; it is among the fields kept. */
export function sentFields(
  names: readonly SentField[],
  { kept }: Pick<RequestHead, 'kept'>,
  { address, client, prefix }: Sent,
): Fields {
  return names.flatMap(name => {
    if (name === 'X-Real-IP') return [name, address];
    if (name === 'X-Forwarded-Port')
      return firstValue(kept, 'x-forwarded-port') === undefined ? [name, portOf(client)] : [];
    return prefix === '' ? [] : [name, prefix];
  });
}

function portOf({ host, scheme }: AskedAddress): string {
  return /:(\d+)$/.exec(host)?.[1] ?? (scheme === 'https' ? '443' : '80');
}
