import type { RouteModel, Snapshot } from '../../config/index.ts';
import { type Clock, firstValue } from '../../core/index.ts';
import { addRequestId, addTrace, corsFields, type RequestHead } from '../../http/index.ts';
import { addRateFields, type RateReport } from './rate-report.ts';

/** What the gates have learnt of the request that is answered. */
export interface Answered {
  readonly clock: Clock;
  readonly requestId: string;
  readonly snapshot: Snapshot;
  readonly head: RequestHead;
  readonly destination: { readonly route: RouteModel | null };
}

/**
 * Adds the fields that the gateway answers for, on its own responses and on the upstream's.
 *
 * @param rate what the response tells of its bucket; null: nothing (see `tellsRate`)
 * @param via false on what a restricted address gets: clients take a 429 without `Via` for one from before the service
 */
export function addOwnFields(
  fields: string[],
  answered: Answered,
  rate: RateReport | null,
  via = true,
): void {
  if (rate !== null) addRateFields(fields, rate, answered.clock.monotonicMs());
  if (answered.snapshot.cors !== null) addCorsFields(fields, answered);
  if (via) addTrace(fields, answered.requestId);
  else addRequestId(fields, answered.requestId);
}

function addCorsFields(fields: string[], { snapshot, destination, head }: Answered): void {
  const { route } = destination;
  if (snapshot.cors === null || (route?.kind === 'forward' && !route.cors)) return;
  for (const part of corsFields(snapshot.cors, firstValue(head.kept, 'origin'))) fields.push(part);
}
