import type { Fields } from '../core/index.ts';
import { writeMaxForwards } from './max-forwards.ts';
import type { RequestHead } from './request-head.ts';
import { addTrace, type HttpVersion } from './trace-fields.ts';

/** What the gateway says of a request to the upstream, beside the client's own fields. */
export interface Provenance {
  /** Value of `Host`. */
  readonly host: string;
  /** Address of the connection's other end. */
  readonly peer: string;
  readonly scheme: 'http' | 'https';
  readonly version: HttpVersion;
  readonly requestId: string;
  /** Value of `Authorization`; null: none. */
  readonly authorization: string | null;
  /** Fields that tell who calls. */
  readonly identity: Fields;
  /** Value of `Max-Forwards` in place of the one that came; null: that stays. */
  readonly maxForwards: number | null;
}

/**
 * The fields that go to the upstream: the client's that pass, then those that the gateway answers for.
 */
export function upstreamFields(head: RequestHead, provenance: Provenance): Fields {
  const fields = head.kept.slice();
  if (provenance.maxForwards !== null) writeMaxForwards(fields, provenance.maxForwards);
  fields.push('Host', provenance.host);
  if (provenance.authorization !== null) fields.push('Authorization', provenance.authorization);
  for (const part of provenance.identity) fields.push(part);
  fields.push(
    'X-Forwarded-For',
    head.forwardedFor === null ? provenance.peer : `${head.forwardedFor.join(', ')}, ${provenance.peer}`,
    'X-Forwarded-Proto',
    head.forwardedProto ?? provenance.scheme,
    'X-Forwarded-Host',
    head.forwardedHost ?? head.host ?? provenance.host,
  );
  addTrace(fields, provenance.requestId, provenance.version);
  return fields;
}
