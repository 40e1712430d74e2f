import { type DestinationStream, pino } from 'pino';

/** Characters that are written together: with their last line about what container engines read at once, 16 KiB. */
const CHUNK = 15_000;
/** How long a line waits for others to be written with it, milliseconds. */
const GATHER_MS = 200;
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
  // It would gather lines by itself, but at each line it counts the bytes of all that are gathered: 3.6 microseconds a
  // line, and 1.2 when it is handed chunks. A chunk it writes at once, less when it is told to.
  const output = pino.destination({ dest: 1, sync: false, minLength: CHUNK, maxLength: MAX_WAITING_BYTES });
  let gathered = '';
  const handOn = () => {
    const chunk = gathered;
    gathered = '';
    // Looked up each time: when the reader dies, the method is replaced.
    if (chunk !== '') output.write(chunk);
  };
  const write = () => {
    handOn();
    output.flush();
  };
  setInterval(write, GATHER_MS).unref();
  // Before the destination's own listener, which writes what it was handed.
  process.prependListener('exit', handOn);
  return {
    write: line => {
      gathered += line;
      if (gathered.length >= CHUNK) handOn();
    },
    flush: () =>
      new Promise(resolve => {
        setTimeout(resolve, FLUSH_MS).unref();
        handOn();
        // Twice, since a flush that meets a write on its way waits for that one alone.
        output.flush(() => output.flush(() => resolve()));
      }),
  };
}
