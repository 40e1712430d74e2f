import type { CallerClass, LimitsModel } from '../config/index.ts';
import { addressKey, addressOfKey } from '../http/index.ts';
import { defineLimit, type OffenceRule } from '../limits/index.ts';
import { Demand, type DemandRoom } from './demand.ts';
import type { LoggedRequest, Offence } from './log/index.ts';

/** What the senders of one kind sent of what a rule counts. */
export interface MeasuredOffences {
  readonly rule: Offence['reason'];
  /** Whom the rule restricts: an address, also on one webhook. Bots and users are told for comparison. */
  readonly by: CallerClass | 'webhook';
  readonly demand: Demand;
  requests: number;
}

/** Finds how many requests each sender sent that count towards a restriction, in the busiest window of the rule. */
export class OffenceDemand {
  readonly #limits: LimitsModel;
  readonly #room: DemandRoom;
  readonly #rows = new Map<string, MeasuredOffences>();

  constructor(limits: LimitsModel, room: DemandRoom) {
    this.#limits = limits;
    this.#room = room;
  }

  /** Rules in the order of limits.yaml, addresses first. */
  get rows(): MeasuredOffences[] {
    const order = ['address', 'webhook', 'user', 'bot'];
    return [...this.#rows.values()].sort(
      (a, b) => a.rule.localeCompare(b.rule) || order.indexOf(a.by) - order.indexOf(b.by),
    );
  }

  /** @param gateway whose counters the request counts on; '' for all */
  note(request: LoggedRequest, gateway: string): void {
    const { client, callerClass, caller, facts } = request;
    const offence = facts?.offence ?? null;
    if (offence === null || facts?.isSpared === true) return;
    const key = addressKey(client);
    if (this.#limits.neverRestrict.addresses.has(addressOfKey(key))) return;
    const { reason, atMs } = offence;
    if (reason === 'webhook_not_found') {
      this.#count(reason, 'webhook', atMs, `${key} ${facts?.webhook ?? ''}`, gateway);
      return;
    }
    this.#count(reason, 'address', atMs, key, gateway);
    if (callerClass !== 'address') this.#count(reason, callerClass, atMs, caller, gateway);
  }

  #count(
    rule: Offence['reason'],
    by: MeasuredOffences['by'],
    atMs: number,
    sender: string,
    gateway: string,
  ): void {
    const row = this.#rowOf(rule, by);
    if (row === null) return;
    row.requests++;
    row.demand.draw(atMs, sender, `${gateway} ${sender}`);
  }

  /** The row of a rule; `null` if the rule is off. */
  #rowOf(rule: Offence['reason'], by: MeasuredOffences['by']): MeasuredOffences | null {
    const known = this.#rows.get(`${rule} ${by}`);
    if (known !== undefined) return known;
    const { quota } = this.#ruleOf(rule) ?? {};
    if (quota === undefined) return null;
    const limit = defineLimit({ role: 'caller', bucket: rule, main: null, algorithm: 'window', quota });
    const row = { rule, by, demand: new Demand(limit, this.#room), requests: 0 };
    this.#rows.set(`${rule} ${by}`, row);
    return row;
  }

  #ruleOf(rule: Offence['reason']): OffenceRule | null {
    return rule === 'invalid_requests' ? this.#limits.invalidRequests : this.#limits.webhookNotFound;
  }
}
