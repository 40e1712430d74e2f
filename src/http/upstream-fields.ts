import type { Fields } from '../core/index.ts';
import { writeMaxForwards } from './max-forwards.ts';
import type { RequestHead } from './request-head.ts';
import { addTrace, type HttpVersion } from './trace-fields.ts';

/** What the gateway tells the upstream about a request, besides the client's own fields. */
export interface Provenance {
  /** Value of `Host`. */
  readonly host: string;
  /** Address of the client's connection. */
  readonly peer: string;
  readonly scheme: 'http' | 'https';
  readonly version: HttpVersion;
  readonly requestId: string;
  /** Fields that pass a trace on. */
  readonly trace: Fields;
  /** Value of `Authorization`; null if absent. */
  readonly authorization: string | null;
  /** Fields that identify the caller. */
  readonly identity: Fields;
  /** Replaces the client's `Max-Forwards`; null: leaves it as it is. */
  readonly maxForwards: number | null;
}

/** The fields that go to the upstream: the client's that may pass, then the gateway's own. */
export function upstreamFields(head: RequestHead, provenance: Provenance): Fields {
  const fields = head.kept.slice();
  if (provenance.maxForwards !== null) writeMaxForwards(fields, provenance.maxForwards);
  fields.push('Host', provenance.host);
  if (provenance.authorization !== null) fields.push('Authorization', provenance.authorization);
  for (const part of provenance.identity) fields.push(part);
  for (const part of provenance.trace) fields.push(part);
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
