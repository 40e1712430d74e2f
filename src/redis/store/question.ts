import type { LimitSet } from '../../limits/index.ts';

/** What a call to the store asks for. */
export interface Question {
  readonly limits: LimitSet;
  readonly caller: string;
  readonly main: string;
  /** False: only look. */
  readonly drawing: boolean;
}
