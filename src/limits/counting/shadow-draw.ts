import type { CounterTable } from './counter-table.ts';
import type { ShadowDecision } from './decision.ts';
import { Draw } from './draw.ts';
import type { LimitRole } from './limit-definition.ts';
import type { Moment } from './moment.ts';
import type { BoundLimit, BoundLimits } from './spaces.ts';

/** Decides the limits in shadow of an admitted request, each by itself: one that refuses does not keep others from being drawn. */
export class ShadowDraw {
  readonly #table: CounterTable;
  /** Serves one limit after the other. */
  readonly #draw: Draw;

  constructor(table: CounterTable) {
    this.#table = table;
    this.#draw = new Draw(table);
  }

  decide(
    { global, caller: own, resource }: BoundLimits,
    caller: string,
    main: string,
    maxParts: number,
    moment: Moment,
  ): ShadowDecision {
    const refused: LimitRole[] = [];
    if (!this.#admits(global, caller, '', maxParts, moment)) refused.push('global');
    if (!this.#admits(own, caller, main, maxParts, moment)) refused.push('caller');
    if (!this.#admits(resource, caller, main, maxParts, moment)) {
      refused.push('resource');
      return { refused, resourceWindow: 0 };
    }
    const isRefundable = resource !== null && this.#draw.isOfOneValue;
    return { refused, resourceWindow: isRefundable ? resource.rule.windowOf(this.#draw.counter) : 0 };
  }

  /** Draws a unit if the limit admits. */
  #admits(bound: BoundLimit | null, caller: string, part: string, maxParts: number, moment: Moment): boolean {
    if (bound === null) return true;
    const draw = this.#draw;
    // The records of the limit before are no longer in use.
    this.#table.begin(moment.nowMs);
    draw.look(bound, caller, part, maxParts, moment.nowMs);
    if (draw.waitMs > 0) return false;
    draw.settle(moment.nowMs);
    if (draw.waitMs > 0) return false;
    draw.commit(moment);
    return true;
  }
}
