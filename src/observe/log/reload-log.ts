import type { AppliedEvent, ConfigEvent, ReloadListener } from '../../core/index.ts';
import type { Logger } from './logger.ts';

/** Logs what becomes of the configuration: one line an event, a bad file with all its mistakes. */
export class ReloadLog implements Partial<ReloadListener> {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  warned(warnings: readonly string[]): void {
    for (const problem of warnings) this.#log.warn({ type: 'reload', problem }, 'configuration');
  }

  applied({ generation, hash, needsRestart }: AppliedEvent): void {
    const line = { type: 'reload', generation, hash };
    this.#log.info(line, 'another configuration serves');
    if (needsRestart.length > 0)
      this.#log.warn({ ...line, keys: needsRestart }, 'these changes wait for a restart');
  }

  waiting({ generation, hash }: ConfigEvent): void {
    this.#log.warn(
      { type: 'reload', generation, hash },
      'another configuration waits for the keys of its identity provider; the present one goes on',
    );
  }

  refused(problems: readonly string[]): void {
    this.#log.error(
      { type: 'reload', problems },
      'the configuration has mistakes; what served before goes on',
    );
  }

  unchanged(): void {
    this.#log.info({ type: 'reload' }, 'the configuration is the one that was taken last');
  }

  unwatched(cause: unknown): void {
    this.#log.warn(
      { type: 'reload', cause: cause instanceof Error ? cause.message : String(cause) },
      'the configuration files cannot be watched; they are looked at every few seconds',
    );
  }
}
