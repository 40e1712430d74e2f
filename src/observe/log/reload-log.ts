import { errorText, type ReloadListener } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** Logs reloads: one line per event, a refused file with all its errors. */
export function reloadLog(log: Logger): Partial<ReloadListener> {
  return {
    warned(warnings) {
      for (const warning of warnings)
        log.warn({ type: 'reload', warning }, 'the configuration has a warning');
    },
    applied({ generation, hash, needsRestart, changes }) {
      const line = { type: 'reload', generation, hash };
      log.info({ ...line, changes }, 'the new configuration is in use');
      if (needsRestart.length > 0)
        log.warn({ ...line, keys: needsRestart }, 'these changes take effect after a restart');
    },
    waiting: ({ generation, hash }) =>
      log.warn(
        { type: 'reload', generation, hash },
        'the new configuration is valid but waits for the keys of its identity provider; the current one stays in use',
      ),
    refused: errors =>
      log.error({ type: 'reload', errors }, 'the new configuration has errors; the current one stays in use'),
    unchanged: () => log.info({ type: 'reload' }, 'the configuration is unchanged'),
    unwatched: cause =>
      log.warn(
        { type: 'reload', cause: errorText(cause) },
        'cannot watch the configuration files; polling them every few seconds',
      ),
  };
}
