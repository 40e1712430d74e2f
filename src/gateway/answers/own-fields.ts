import type { RouteModel, Snapshot } from '../../config/index.ts';
import { type Clock, firstValue } from '../../core/index.ts';
import { corsFields, type RequestHead } from '../../http/index.ts';
import { addRateFields, type RateReport } from './rate-report.ts';

/** What the gates have learnt of the request that is answered. */
export interface Answered {
  readonly clock: Clock;
  readonly requestId: string;
  readonly snapshot: Snapshot;
  readonly head: RequestHead | null;
  readonly route: RouteModel | null;
  /** Null: no bucket took part in the decision. */
  readonly rate: RateReport | null;
}

export interface OwnFields {
  /** Whether the answer tells the state of the bucket: see `tellsRate`. */
  readonly rate: boolean;
  /** Clients take a 429 without `Via` for one that came from before the service: that is what a restricted address gets. */
  readonly via: boolean;
}

/** Adds the fields that the gateway answers for, on its own answers and on the upstream's. */
export function addOwnFields(fields: string[], answered: Answered, { rate, via }: OwnFields): void {
  if (rate && answered.rate !== null) addRateFields(fields, answered.rate, answered.clock.monotonicMs());
  if (answered.snapshot.cors !== null) addCorsFields(fields, answered);
  if (via) fields.push('Via', '1.1 weir');
  fields.push('X-Request-Id', answered.requestId);
}

function addCorsFields(fields: string[], { snapshot, route, head }: Answered): void {
  if (snapshot.cors === null || head === null || (route?.kind === 'forward' && !route.cors)) return;
  for (const part of corsFields(snapshot.cors, firstValue(head.kept, 'origin'))) fields.push(part);
}
