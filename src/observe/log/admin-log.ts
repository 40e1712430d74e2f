import type { AdminApiListener, AdminChange, AdminRefusal, Clock } from '../../core/index.ts';
import { errorStack } from '../../core/index.ts';
import type { Logger } from './logging.ts';
import { OncePerInterval } from './once-per-interval.ts';

const MESSAGES: Readonly<Record<Exclude<AdminRefusal, 'no_token'>, string>> = {
  wrong_token: 'the admin API received a wrong token',
  too_many_tokens: 'the admin API refuses tokens of an address that sent too many wrong ones',
  foreign_origin:
    'the admin listener was used by a page of another origin, or by a name other than localhost',
};

const CHANGES: Readonly<Record<AdminChange['what'], string>> = {
  restriction_added: 'an operator restricted a client through the admin API',
  restriction_lifted: 'an operator lifted a restriction through the admin API',
  buckets_reset: 'an operator reset what a client has used up through the admin API',
};

/** Logs who changed something through the admin API, who was refused, and what the admin listener failed to answer. */
export function adminLog(log: Logger, clock: Clock): AdminApiListener {
  /** Anyone who reaches the port can cause these lines. */
  const counts = new OncePerInterval(clock);
  return {
    changed({ what, client, bucket, by }) {
      const about = what === 'buckets_reset' ? { client, bucket } : { client };
      log.warn({ type: 'admin', change: what, ...about, address: by }, CHANGES[what]);
    },
    refused(refusal, address) {
      // A request without a token is normal: the person has not read the instructions yet.
      if (refusal === 'no_token') return;
      const requests = counts.count(refusal);
      if (requests > 0) log.warn({ type: 'admin', reason: refusal, address, requests }, MESSAGES[refusal]);
    },
    failed(endpoint, error) {
      const requests = counts.count(endpoint);
      if (requests === 0) return;
      const cause = errorStack(error);
      log.error({ type: 'admin', endpoint, requests, cause }, 'the admin listener failed to answer');
    },
  };
}
