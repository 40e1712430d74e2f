import { type DestinationStream, type Level, type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

/** JSON lines on `destination`; `silent` writes none. */
export function makeLogger(level: Level | 'silent', destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    destination,
  );
}

/**
 * Standard output, written in the background: a slow reader of the log must not hold up requests. What is not written
 * yet is written at the end, unless the process is killed.
 */
export function standardOutput(): DestinationStream & { flushSync(): void } {
  return pino.destination({ dest: 1, sync: false, minLength: 4_096, periodicFlush: 200 });
}
