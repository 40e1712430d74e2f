import { type Clock, KNOWN_MS } from '../../core/index.ts';
import { type Logger, OncePerInterval } from '../../observe/index.ts';

/**
 * Logs, at most once a minute, that responses were sent before all workers knew of a change. While a worker hangs, every sign-out
 * causes this.
 */
export function lateLog(log: Logger, clock: Clock): () => void {
  const counts = new OncePerInterval(clock);
  return () => {
    const answers = counts.count('late');
    if (answers > 0)
      log.warn(
        { type: 'worker', answers, waitedMs: KNOWN_MS },
        'a worker hangs: responses were sent before all workers had applied a change',
      );
  };
}
