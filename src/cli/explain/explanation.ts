import type { CallerClass } from '../../config/index.ts';
import type { Row } from './row.ts';

/** Whom the command line asks about; null: anyone. */
export interface AskedCaller {
  readonly as: CallerClass | null;
  readonly address: string | null;
}

/** How the gateway would treat a request. */
export interface Explanation {
  readonly rows: Row[];
  /** A route takes the request. */
  readonly taken: boolean;
}
