import type { Decision, Limit, LimitSet } from '../../src/limits/index.ts';
import { History } from '../unit/limits/history.ts';

/** One call of a history, with what the memory store answered. */
export type Call =
  | {
      readonly kind: 'decide' | 'peek';
      readonly atMs: number;
      readonly set: LimitSet;
      readonly caller: string;
      readonly main: string;
      readonly group: string;
      readonly cost: number;
      readonly decision: Decision;
    }
  | {
      readonly kind: 'end';
      readonly atMs: number;
      /** The number of the call that began the request. */
      readonly of: number;
    }
  | {
      readonly kind: 'refund';
      readonly atMs: number;
      readonly limit: Limit;
      readonly part: string;
      readonly window: number;
      readonly cost: number;
      readonly owner: string | null;
    };

/** Runs a history on the memory store and returns all that was asked and answered, with the time of each call. */
export function recordHistory(configuration: number, steps: readonly number[]): Call[] {
  const calls: Call[] = [];
  const history = new History(configuration, (store, clock) => {
    const now = () => Math.floor(clock.monotonicMs());
    return {
      decide(set, caller, main, group = '', cost = 1) {
        const decision = store.decide(set, caller, main, group, cost);
        const asked = { atMs: now(), set, caller, main, group, cost };
        const of = calls.push({ kind: 'decide', ...asked, decision: { ...decision } }) - 1;
        const { place } = decision;
        if (place === null) return decision;
        const leave = () => {
          calls.push({ kind: 'end', atMs: now(), of });
          place.leave();
        };
        return { ...decision, place: { leave } };
      },
      peek(set, caller, main, group = '', cost = 1) {
        const decision = store.peek(set, caller, main, group, cost);
        const asked = { atMs: now(), set, caller, main, group, cost };
        calls.push({ kind: 'peek', ...asked, decision: { ...decision } });
        return decision;
      },
      refund(limit, part, window, cost = 1, owner = null) {
        store.refund(limit, part, window, cost, owner);
        calls.push({ kind: 'refund', atMs: now(), limit, part, window, cost, owner });
      },
    };
  });
  history.run(steps);
  return calls;
}
