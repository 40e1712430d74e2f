import type { DestinationStream } from 'pino';

/** Where log lines go, each in a call of its own. */
export interface LogDestination extends DestinationStream {
  /** Absent: it takes every line. */
  readonly losses?: LogLosses;
}

/** What became of log lines. */
export interface LogLosses {
  /** Lines dropped since the start. */
  readonly linesDropped: number;
  /** Why lines cannot be written now; `null` while they are. */
  readonly trouble: LogTrouble | null;
}

/** Nothing of the log is written. */
export interface LogTrouble {
  readonly cause: string;
  readonly sinceMs: number;
}

export const NO_LOSSES: LogLosses = { linesDropped: 0, trouble: null };
