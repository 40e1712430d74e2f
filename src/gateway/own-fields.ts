import { firstValue } from '../core/index.ts';
import { corsFields } from '../http/index.ts';
import type { Exchange } from './exchange.ts';
import { addRateFields } from './rate-report.ts';

export interface OwnFields {
  /** Whether the answer tells the state of the bucket (decisions: "Which answer carries what"). */
  readonly rate: boolean;
  /** Clients take a 429 without `Via` for one that came from before the service: that is what a restricted address gets. */
  readonly via: boolean;
}

/** Adds the fields that the gateway answers for, on its own answers and on the upstream's. */
export function addOwnFields(fields: string[], exchange: Exchange, { rate, via }: OwnFields): void {
  if (rate && exchange.rate !== null) addRateFields(fields, exchange.rate, exchange.clock.monotonicMs());
  if (exchange.snapshot.cors !== null) addCorsFields(fields, exchange);
  if (via) fields.push('Via', '1.1 weir');
  fields.push('X-Request-Id', exchange.requestId);
}

function addCorsFields(fields: string[], { snapshot, route, head }: Exchange): void {
  if (snapshot.cors === null || head === null || (route?.kind === 'forward' && !route.cors)) return;
  for (const part of corsFields(snapshot.cors, firstValue(head.kept, 'origin'))) fields.push(part);
}
