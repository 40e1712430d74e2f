import { constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { systemClock } from '../../core/index.ts';
import { LogOutput } from './logging.ts';

const STDOUT = 1;

/** Standard output, written in the background: a slow reader of the log must not hold up requests. */
export function standardOutput(): LogOutput {
  return new LogOutput(nonBlocking(), systemClock);
}

/**
 * Standard output, opened so that no write blocks. A write that does holds up the end of the process: Node waits for it.
 */
function nonBlocking(): number {
  if (isatty(STDOUT)) {
    try {
      // Node makes terminals block. A terminal that is opened again here does not block, while it does for other programs as
      // before.
      return openSync('/dev/stdout', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // The terminal belongs to another user, or the system lacks this name.
      return STDOUT;
    }
  }
  // Node opens it at the first look, and has pipes and sockets not block from then on.
  void process.stdout;
  return STDOUT;
}
