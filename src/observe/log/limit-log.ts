import type { Clock, EvictionEvent, LimitListener, RestrictionEvent, StandIn } from '../../core/index.ts';
import type { Pseudonyms } from './access-log.ts';
import type { Logger } from './logging.ts';
import { OncePerInterval } from './once-per-interval.ts';

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
