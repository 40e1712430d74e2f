import { type Level, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { escapeUnseen } from '../../core/index.ts';
import type { LogDestination } from './log-destination.ts';

/** Writes log lines. Code that renders its own lines writes them to `destination`, in order with the others. */
export type Logger = PinoLogger & { readonly destination: LogDestination };

/** JSON lines on `destination`; `silent` writes none. */
export function makeLogger(level: Level | 'silent', destination: LogDestination): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const lines = { write: (line: string) => destination.write(escapeUnseen(line)) };
  return Object.assign(pino(options, lines), { destination });
}
