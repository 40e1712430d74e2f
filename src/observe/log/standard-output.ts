import { constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { systemClock } from '../../core/index.ts';
import { LogOutput } from './logging.ts';

const STDOUT = 1;

/** Standard output, written in the background: a slow reader of the log must not delay requests. */
export function standardOutput(): LogOutput {
  return new LogOutput(nonBlocking(), systemClock);
}

/** Standard output, opened so that no write blocks. A blocking write would delay the end of the process: Node waits for it. */
function nonBlocking(): number {
  if (isatty(STDOUT)) {
    try {
      // Node makes terminals blocking. If it is opened again here, it does not block, and stays blocking for other programs.
      return openSync('/dev/stdout', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // The terminal belongs to another user, or the system lacks this name.
      return STDOUT;
    }
  }
  // Node opens it on first access, and makes pipes and sockets non-blocking from then on.
  void process.stdout;
  return STDOUT;
}
