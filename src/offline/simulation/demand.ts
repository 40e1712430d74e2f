import { type ClassName, type LimitsModel, restrictedKey } from '../../config/index.ts';
import { ownString } from '../../core/index.ts';
import { defineLimit, type Limit, type OffenceRule } from '../../limits/index.ts';
import { addressOfKey } from '../../wire/http/index.ts';
import type { LoggedRequest, Offence } from './log/index.ts';

/** Maximum callers, and maximum open windows, over all demands together. */
const MAX_CALLERS = 1_000_000;
const MAX_WINDOWS = 1_000_000;

/** The lowest number that would have admitted all requests of one caller so far. */
interface Peak {
  units: number;
}

interface Open {
  readonly peak: Peak;
  /** Units consumed in the window; for `smooth`, units that have not drained yet. */
  count: number;
  /** When the window was opened; unused for `smooth`. */
  openedMs: number;
  /** When the window closes; for `smooth`, the time that `count` refers to. */
  markMs: number;
}

/** Bounds the memory of all demands together, and counts the requests left out. */
export class DemandRoom {
  callers = 0;
  windows = 0;
  /** Requests left out because the table of callers or of open windows was full. */
  unmeasured = 0;
  readonly #maxCallers: number;
  readonly #maxWindows: number;

  constructor(maxCallers = MAX_CALLERS, maxWindows = MAX_WINDOWS) {
    this.#maxCallers = maxCallers;
    this.#maxWindows = maxWindows;
  }

  get hasCaller(): boolean {
    return this.callers < this.#maxCallers;
  }

  get hasWindow(): boolean {
    return this.windows < this.#maxWindows;
  }
}

/**
 * Determines how many units of one limit each caller needs. A fixed window counts as in the store: it opens with a request and
 * closes a period later, or with the period of the calendar. For `smooth`, the need grows whenever the undrained units exceed it. A higher need drains faster, so the
 * final one admits every request. It may be too high (by 30 % for bursts that grow over time), because the lowest could only be
 * found with the history of each caller.
 */
export class Demand {
  readonly limit: Limit;
  readonly #room: DemandRoom;
  readonly #peaks = new Map<string, Peak>();
  /** Windows used since the last turn. After two turns without use, a window has closed and is dropped. */
  #recent = new Map<string, Open>();
  #older = new Map<string, Open>();
  #turnedAtMs = 0;

  constructor(limit: Limit, room: DemandRoom) {
    this.limit = limit;
    this.#room = room;
  }

  /** The need of each caller, in units, ascending. */
  get needs(): Uint32Array {
    return Uint32Array.from(this.#peaks.values(), ({ units }) => units).sort();
  }

  /**
   * Counts one request.
   *
   * @param key identifies the counter; one caller may have several
   * @param cost the units that the request consumes
   */
  consume(atMs: number, caller: string, key: string, cost = 1): void {
    if (atMs >= this.#turnedAtMs + this.limit.periodMs) this.#turn(atMs);
    const open = this.#openOf(caller, key);
    if (open === null) {
      this.#room.unmeasured++;
      return;
    }
    if (this.limit.algorithm === 'smooth') this.#drain(open, atMs);
    else if (atMs >= open.markMs) {
      open.count = 0;
      open.openedMs = atMs;
      open.markMs = this.limit.calendar?.endAfter(atMs) ?? atMs + this.limit.periodMs;
    }
    open.count += cost;
    // Subtract a little, so that a rounding error does not add a unit.
    if (open.count > open.peak.units) open.peak.units = Math.ceil(open.count - 1e-6);
  }

  /** Returns the part of a request that still counts. Called when a service has denied the caller access. */
  refund(atMs: number, consumedAtMs: number, key: string, cost = 1): void {
    const open = this.#recent.get(key) ?? this.#older.get(key);
    if (open === undefined) return;
    if (this.limit.algorithm === 'smooth') this.#drain(open, atMs);
    else if (atMs >= open.markMs || consumedAtMs < open.openedMs) return;
    open.count = Math.max(0, open.count - cost);
  }

  #drain(open: Open, atMs: number): void {
    const passedMs = Math.max(0, atMs - open.markMs);
    open.count = Math.max(0, open.count - (passedMs * open.peak.units) / this.limit.periodMs);
    open.markMs = Math.max(atMs, open.markMs);
  }

  #turn(atMs: number): void {
    this.#room.windows -= this.#older.size;
    // After two periods without a request, every window has closed.
    const isLate = atMs >= this.#turnedAtMs + 2 * this.limit.periodMs;
    if (isLate) this.#room.windows -= this.#recent.size;
    this.#older = isLate ? new Map() : this.#recent;
    this.#recent = new Map();
    this.#turnedAtMs = atMs;
  }

  #openOf(caller: string, key: string): Open | null {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) {
      this.#older.delete(key);
      this.#recent.set(key, older);
      return older;
    }
    const peak = this.#peakOf(caller);
    if (peak === null || !this.#room.hasWindow) return null;
    const open = { peak, count: 0, openedMs: 0, markMs: 0 };
    this.#recent.set(key, open);
    this.#room.windows++;
    return open;
  }

  #peakOf(caller: string): Peak | null {
    const known = this.#peaks.get(caller);
    if (known !== undefined) return known;
    if (!this.#room.hasCaller) return null;
    this.#room.callers++;
    const peak = { units: 0 };
    this.#peaks.set(ownString(caller), peak);
    return peak;
  }
}

/** Requests that count towards one restriction rule, from senders of one kind. */
export interface MeasuredOffences {
  readonly rule: Offence['reason'];
  /** The kind of sender. Rules restrict addresses, or an address at one webhook; users and bots are included for comparison. */
  readonly by: ClassName | 'webhook';
  readonly demand: Demand;
  requests: number;
}

/** Determines how many offences each sender committed in the busiest window of a rule. */
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
    const placeOf = (by: string) => (order.includes(by) ? order.indexOf(by) : order.length);
    return [...this.#rows.values()].sort(
      (a, b) => a.rule.localeCompare(b.rule) || placeOf(a.by) - placeOf(b.by) || a.by.localeCompare(b.by),
    );
  }

  /** @param gateway the gateway whose counters consume the request; '' if all gateways share them */
  note(request: LoggedRequest, gateway: string): void {
    const { client, callerClass, caller, facts } = request;
    const offence = facts?.offence ?? null;
    if (offence === null || facts?.isSpared === true) return;
    const key = restrictedKey(client, this.#limits);
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
    row.demand.consume(atMs, sender, `${gateway} ${sender}`);
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
