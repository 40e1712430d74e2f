import { type DestinationStream, type Level, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';

/** Writes lines of the log. Whoever renders lines by itself writes them to `destination`, in order with the others. */
export type Logger = PinoLogger & { readonly destination: DestinationStream };

/** JSON lines on `destination`; `silent` writes none. */
export function makeLogger(level: Level | 'silent', destination: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return Object.assign(pino(options, destination), { destination });
}
