import type {
  Clock,
  EvictionEvent,
  LimitListener,
  OverloadListener,
  ReloadListener,
  RestrictionEvent,
  StandIn,
  StoreListener,
} from '../../core/index.ts';
import { errorStack, errorText } from '../../core/index.ts';
import type { Pseudonyms } from './access-log.ts';
import type { Logger } from './logging.ts';
import { OncePerInterval } from './once-per-interval.ts';

/** Clocks further apart than this are logged, milliseconds. */
const FAR_APART_MS = 500;
const MAX_FAILURES = 20;

/** Logs each change of the shared store's state once. Single failures are only counted. */
export function storeLog(log: Logger): Partial<StoreListener> {
  let areFarApart = false;
  let isSubscribed = true;
  /** Failures of tasks that were logged since Redis was found. */
  const failures = new Set<string>();
  /** Causes of the outage of now that were logged; `null` while Redis decides. */
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
      // What ends the connection is not always what keeps it away: a password that was changed, a certificate.
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
        'serving without Redis since the start: tokens that other gateways have revoked pass here until Redis is back (on_failure: closed would wait)',
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
        log.info({ type: 'store' }, 'Redis permits all that this gateway needs again');
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
        'Redis refused what no request waits for, so it was not done',
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

const STOOD_IN: Readonly<Record<StandIn, string>> = {
  caller: 'callers use more main values than keys_per_caller: the further ones of each share one counter',
  network: 'addresses of a network without room for more counters share one',
  everyone: 'there is no room for counters of their own for new callers: they share one (caps.limit_keys)',
};

const UNPRICED = {
  untold:
    'responses lack the field that should tell what their requests cost: what was reserved for them stands',
  wrong:
    'the field that should tell what requests cost is not one whole number: what was reserved for them stands',
} as const;

/** Logs restrictions and releases, and counters that stand in for others. Decisions are everyday events, so only metrics count them. */
export function limitLog(log: Logger, pseudonyms: Pseudonyms, clock: Clock): Partial<LimitListener> {
  const counts = new OncePerInterval(clock);
  const lineOf = ({ kind, reason, key, untilEpochMs }: RestrictionEvent | EvictionEvent): object => {
    const line = { type: 'restriction', kind, reason };
    const until = new Date(untilEpochMs).toISOString();
    if (key === null) return { ...line, until };
    const who = kind === 'principal' ? { caller: pseudonyms.of(key) } : { client: key };
    return { ...line, ...who, until };
  };
  return {
    restricted: event => log.warn(lineOf(event), 'restricted'),
    released: event => log.info(lineOf(event), 'restriction released'),
    prolonged: event => log.warn(lineOf(event), 'restriction prolonged'),
    evicted: event => log.error(lineOf(event), 'restriction ended early: its table is full'),
    defaultRefused: ({ callerClass, quota, message }) =>
      log.warn({ type: 'limit', class: callerClass, quota }, message),
    priced({ bucket, outcome, field }) {
      if (outcome !== 'untold' && outcome !== 'wrong') return;
      const responses = counts.count(`${outcome} ${bucket}`);
      if (responses > 0) log.warn({ type: 'limit', bucket, field, responses }, UNPRICED[outcome]);
    },
    stoodIn({ bucket, standIn, decisions: count }) {
      const decisions = counts.count(`${standIn} ${bucket ?? ''}`, count);
      if (decisions === 0) return;
      log.warn({ type: 'limit', bucket: bucket ?? 'none', standIn, decisions }, STOOD_IN[standIn]);
    },
  };
}

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
