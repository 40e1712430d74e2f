import { AccessLog } from './access-log.ts';
import type { Logger } from './logger.ts';
import { Pseudonyms } from './pseudonyms.ts';

/** What is logged, and how callers are named there. */
export interface LoggingOptions {
  readonly level: Logger['level'];
  /** One line per request. */
  readonly access: boolean;
  /** Null: the random one of this process. */
  readonly pseudonymKey: Buffer | null;
}

/** The parts of logging that follow the configuration. */
export class Logging {
  readonly pseudonyms: Pseudonyms;
  readonly accessLog: AccessLog;
  readonly #log: Logger;
  readonly #randomKey: Buffer;

  /** The level of `log` is left as it is. */
  constructor(log: Logger, { access, pseudonymKey }: LoggingOptions, randomKey: Buffer) {
    this.#log = log;
    this.#randomKey = randomKey;
    this.pseudonyms = new Pseudonyms(pseudonymKey ?? randomKey);
    this.accessLog = new AccessLog(log, this.pseudonyms, access);
  }

  /** These from now on. */
  use({ level, access, pseudonymKey }: LoggingOptions): void {
    this.#log.level = level;
    this.accessLog.on = access;
    this.pseudonyms.use(pseudonymKey ?? this.#randomKey);
  }
}
