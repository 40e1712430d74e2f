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

/** Bytes of log that may wait for a slow reader; further lines are dropped, since requests must not wait and memory ends. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** A reader that is gone would be waited for forever. */
const FLUSH_MS = 500;

/** Where the log goes. */
export interface LogOutput extends DestinationStream {
  /** Writes what waits, for half a second at most. */
  flush(): Promise<void>;
}

/** Standard output, written in the background: a slow reader of the log must not hold up requests. */
export function standardOutput(): LogOutput {
  const output = pino.destination({
    dest: 1,
    sync: false,
    minLength: 4_096,
    periodicFlush: 200,
    maxLength: MAX_WAITING_BYTES,
  });
  return {
    write: line => void output.write(line),
    flush: () =>
      new Promise(resolve => {
        setTimeout(resolve, FLUSH_MS).unref();
        output.flush(() => resolve());
      }),
  };
}
