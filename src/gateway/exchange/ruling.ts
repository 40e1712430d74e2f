import type { DecisionRecord } from '../../core/index.ts';
import type { Limit } from '../../limits/index.ts';
import type { RateReport } from '../responses/index.ts';

/** What the limits decided about a request: for its response, its record, and the unit to return at its end. */
export interface Ruling extends DecisionRecord {
  /** What to tell the client about its bucket; null if no bucket took part. */
  readonly rate: RateReport | null;
  /** The unit drawn on a resource limit, to return if the upstream denies the caller access. */
  readonly resourceUnit: ResourceUnit | null;
  /** The same of a resource limit in shadow. */
  readonly shadowUnit: ResourceUnit | null;
}

/** One unit of a resource limit. */
export interface ResourceUnit {
  readonly limit: Limit;
  readonly main: string;
  readonly window: number;
}
