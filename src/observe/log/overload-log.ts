import type { OverloadListener } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** Logs the beginning and the end of each episode, and nothing per request. */
export function overloadLog(log: Logger): OverloadListener {
  return {
    began(delayMs) {
      const line = { type: 'overload', delayMs: Math.round(delayMs) };
      log.error(line, 'more requests come than this gateway can serve: it answers some with 503');
    },
    ended(lastedMs, refused) {
      const line = { type: 'overload', lastedMs: Math.round(lastedMs), refused };
      log.info(line, 'the gateway serves all requests again');
    },
  };
}
