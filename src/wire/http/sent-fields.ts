import { type Fields, firstValue } from '../../core/index.ts';
import type { AskedAddress } from './client-location.ts';
import type { RequestHead } from './request-head.ts';

/** Fields that say where a request came from, which the gateway writes if the operator wants it to. */
export const SENT_FIELDS = ['X-Real-IP', 'X-Forwarded-Port', 'X-Forwarded-Prefix', 'X-Script-Name'] as const;
export type SentField = (typeof SENT_FIELDS)[number];

/** The facts about a request that these fields report. */
interface Sent {
  readonly address: string;
  /** Where the client sent its request. */
  readonly client: AskedAddress;
  /** The first segments of the path, which the service does not get, as they matched; '' for none. */
  readonly prefix: string;
}

/** Returns these fields for a request. The `X-Forwarded-Port` of a trusted proxy is kept instead. */
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
