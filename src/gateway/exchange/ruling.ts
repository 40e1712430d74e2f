import type { DecisionRecord } from '../../core/index.ts';
import type { Limit } from '../../limits/index.ts';
import type { RateReport } from '../responses/index.ts';

/** What limits decided about a request: for its response, its record, and what is given back at its end. */
export interface Ruling extends DecisionRecord {
  /** What the client is told of its bucket; null where no bucket took part. */
  readonly rate: RateReport | null;
  /** The unit drawn from a resource limit: given back when the upstream does not let the caller in. */
  readonly resourceUnit: ResourceUnit | null;
}

/** One unit of a resource limit. */
export interface ResourceUnit {
  readonly limit: Limit;
  readonly main: string;
  readonly window: number;
}
