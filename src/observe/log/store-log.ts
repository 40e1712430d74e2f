import { errorStack, type StoreListener } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** Clocks further apart than this are logged, milliseconds. */
const FAR_APART_MS = 500;
const MAX_FAILURES = 20;

/** Logs each change of the shared store's state once. Single failures are only counted. */
export function storeLog(log: Logger): Partial<StoreListener> {
  let areFarApart = false;
  let isSubscribed = true;
  /** Failures of tasks that were logged since Redis was found. */
  const failures = new Set<string>();
  /** Causes of the current outage that were logged; `null` while Redis decides. */
  let causes: Set<string> | null = null;
  return {
    lost(policy, cause) {
      const line = { type: 'store', policy, cause };
      causes = new Set([cause]);
      if (policy === 'local')
        log.error(line, 'Redis is unreachable: this gateway counts alone, with its share of each limit');
      else if (policy === 'open') log.error(line, 'Redis is unreachable: limits are not enforced');
      else log.error(line, 'Redis is unreachable: requests that have a limit get 503');
    },
    failed(_failure, cause) {
      // What keeps the store away may differ from what ended the connection: a changed password, a certificate.
      if (causes === null || causes.has(cause) || causes.size >= MAX_FAILURES) return;
      causes.add(cause);
      log.error({ type: 'store', cause }, 'Redis is still unreachable');
    },
    found(lostForMs) {
      failures.clear();
      causes = null;
      const line = { type: 'store', lostForMs: Math.round(lostForMs) };
      if (lostForMs === 0) log.info({ type: 'store' }, 'Redis counts the limits');
      else log.info(line, 'Redis is reachable again and counts the limits');
    },
    behind: () =>
      log.error(
        { type: 'store' },
        'serving without Redis since the start: tokens that other gateways have revoked are accepted until Redis is back (with on_failure: closed, the gateway would wait)',
      ),
    caughtUp: () =>
      log.info({ type: 'store' }, 'has caught up with what other gateways have revoked and restricted'),
    shareFailed(skippedFacts, error) {
      const cause = errorStack(error);
      log.error(
        { type: 'store', skippedFacts, cause },
        'a fault of this gateway: it could not apply what other gateways have revoked, restricted or lifted',
      );
    },
    subscribed(refusal) {
      if (isSubscribed === (refusal === null)) return;
      isSubscribed = refusal === null;
      if (isSubscribed)
        log.info({ type: 'store' }, 'messages of the other gateways arrive through Redis again');
      else
        log.error(
          { type: 'store', cause: refusal },
          'Redis refuses messages of the other gateways: this one polls for what they have revoked and restricted, once a second',
        );
    },
    rightsMissing(commands) {
      if (commands.length === 0)
        log.info({ type: 'store' }, 'Redis again permits everything that this gateway needs');
      else
        log.error(
          { type: 'store', commands },
          'the Redis user of this gateway lacks rights that it needs: docs/redis.md lists all',
        );
    },
    taskFailed(task, cause) {
      const failure = `${task}: ${cause}`;
      if (failures.has(failure) || failures.size >= MAX_FAILURES) return;
      failures.add(failure);
      log.error(
        { type: 'store', task, cause },
        'Redis refused a command that no request waits for, so its effect is missing',
      );
    },
    beat(_roundTripMs, clockAheadMs) {
      if (areFarApart === Math.abs(clockAheadMs) > FAR_APART_MS) return;
      areFarApart = !areFarApart;
      const line = { type: 'store', clockAheadMs: Math.round(clockAheadMs) };
      if (areFarApart)
        log.warn(line, 'the clocks of Redis and this gateway are far apart: one of them is wrong');
      else log.info(line, 'the clocks of Redis and this gateway agree again');
    },
  };
}
