import { type Clock, randomKey } from '../../core/index.ts';
import { AccessLine } from './access-line.ts';
import { AccessLog } from './access-log.ts';
import type { Logger } from './logger.ts';
import type { PathNaming } from './path-naming.ts';
import { Pseudonyms } from './pseudonyms.ts';

/** What is logged, and how callers are named in the log. */
export interface LoggingOptions {
  readonly level: Logger['level'];
  /** One line per request. */
  readonly access: boolean;
  /** Null: a random key of this process. */
  readonly pseudonymKey: Buffer | null;
  readonly paths: PathNaming;
}

/** The parts of logging that follow the configuration. */
export class Logging {
  readonly pseudonyms: Pseudonyms;
  readonly accessLog: AccessLog;
  readonly #log: Logger;
  /** Names callers while the configuration has no key. */
  readonly #randomKey = randomKey();

  /** Leaves the level of `log` as it is. */
  constructor(log: Logger, { access, pseudonymKey, paths }: LoggingOptions, clock: Clock) {
    this.#log = log;
    this.pseudonyms = new Pseudonyms(pseudonymKey ?? this.#randomKey);
    const line = new AccessLine(clock, this.pseudonyms, paths);
    this.accessLog = new AccessLog(log.destination, line, this.#writes(access));
  }

  /** Applies new options. */
  use({ level, access, pseudonymKey, paths }: LoggingOptions): void {
    this.#log.level = level;
    this.accessLog.on = this.#writes(access);
    this.pseudonyms.use(pseudonymKey ?? this.#randomKey);
    this.accessLog.line.use(paths);
  }

  /** Access lines have level info. */
  #writes(access: boolean): boolean {
    return access && this.#log.isLevelEnabled('info');
  }
}
