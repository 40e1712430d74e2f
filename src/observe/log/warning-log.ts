import type { WarningListener } from '../../core/index.ts';
import type { Logger } from './logging.ts';

export function warningLog(log: Logger): WarningListener {
  return { warned: (line, message) => log.warn(line, message) };
}
