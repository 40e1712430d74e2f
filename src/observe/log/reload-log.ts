import type { ConfigEvent, ReloadListener, ReplacedEvent } from '../../core/index.ts';
import type { Logger } from './logger.ts';

/** Logs reloads: one line per event, a refused file with all its errors. */
export class ReloadLog implements Partial<ReloadListener> {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  warned(warnings: readonly string[]): void {
    for (const warning of warnings)
      this.#log.warn({ type: 'reload', warning }, 'the configuration has a warning');
  }

  applied({ generation, hash, needsRestart, changes }: ReplacedEvent): void {
    const line = { type: 'reload', generation, hash };
    this.#log.info({ ...line, changes }, 'the new configuration is in use');
    if (needsRestart.length > 0)
      this.#log.warn({ ...line, keys: needsRestart }, 'these changes take effect after a restart');
  }

  waiting({ generation, hash }: ConfigEvent): void {
    this.#log.warn(
      { type: 'reload', generation, hash },
      'the new configuration is valid but waits for the keys of its identity provider; the current one stays in use',
    );
  }

  refused(errors: readonly string[]): void {
    this.#log.error(
      { type: 'reload', errors },
      'the new configuration has errors; the current one stays in use',
    );
  }

  unchanged(): void {
    this.#log.info({ type: 'reload' }, 'the configuration is unchanged');
  }

  unwatched(cause: unknown): void {
    this.#log.warn(
      { type: 'reload', cause: cause instanceof Error ? cause.message : String(cause) },
      'cannot watch the configuration files; polling them every few seconds',
    );
  }
}
