import type { RouteModel, Snapshot } from '../../config/index.ts';
import { type Clock, firstValue } from '../../core/index.ts';
import { addRequestId, addTrace, corsFields, type HttpVersion, type RequestHead } from '../../http/index.ts';
import { addRateFields, type RateReport } from './rate-report.ts';

/** What the gates have found out about the request being answered. */
export interface Answered {
  readonly clock: Clock;
  readonly requestId: string;
  readonly snapshot: Snapshot;
  readonly head: RequestHead;
  readonly destination: { readonly route: RouteModel | null };
}

/**
 * Adds the gateway's own fields to a response, whether the gateway or the upstream made it.
 *
 * @param rate the state of the bucket to report; null if absent (see `reportsRate`)
 * @param via the version of the response that is passed on; null for restricted addresses: clients take a 429 without `Via` as sent
 *   by something in front of the service
 */
export function addOwnFields(
  fields: string[],
  answered: Answered,
  rate: RateReport | null,
  via: HttpVersion | null = '1.1',
): void {
  if (rate !== null) addRateFields(fields, rate, answered.clock.monotonicMs());
  if (answered.snapshot.cors !== null) addCorsFields(fields, answered);
  if (via !== null) addTrace(fields, answered.requestId, via);
  else addRequestId(fields, answered.requestId);
}

function addCorsFields(fields: string[], { snapshot, destination, head }: Answered): void {
  const { route } = destination;
  if (snapshot.cors === null || (route?.kind === 'forward' && !route.cors)) return;
  for (const part of corsFields(snapshot.cors, firstValue(head.kept, 'origin'))) fields.push(part);
}
