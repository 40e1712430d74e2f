import type { Clock, EvictionEvent, LimitListener, RestrictionEvent } from '../../core/index.ts';
import type { Pseudonyms } from './access-log.ts';
import type { Logger } from './logging.ts';
import { OncePerInterval } from './once-per-interval.ts';

const UNPRICED = {
  untold:
    'responses lack the field that should name the cost of their requests: the reserved cost is charged',
  wrong:
    'the field that should name the cost of requests is not one whole number: the reserved cost is charged',
} as const;

/**
 * Logs restrictions and releases, and prices that responses do not name. Decisions are everyday events, so only metrics count them.
 */
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
    priced({ bucket, outcome, field }) {
      if (outcome !== 'untold' && outcome !== 'wrong') return;
      const responses = counts.count(`${outcome} ${bucket}`);
      if (responses > 0) log.warn({ type: 'limit', bucket, field, responses }, UNPRICED[outcome]);
    },
  };
}
