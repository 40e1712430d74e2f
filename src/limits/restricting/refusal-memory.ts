import type { Clock } from '../../core/index.ts';
import { CounterTable, type Limit, newCounter, Spaces } from '../counting/index.ts';
import { DEFAULT_MAX_EVENT_KEYS, type EventCounterOptions } from './event-counter.ts';

/** A client may have had several requests on their way when the first was refused, milliseconds. */
const IN_FLIGHT_MS = 1_000;
/** Of windows that are no longer than that, so much: nothing else would stop the flood of a bucket with such windows. */
const IN_FLIGHT_PART = 0.5;

/** Remembers for each key of a limit when it first refused and until when it told to wait. Bounded; forgets at random when full. */
export class RefusalMemory {
  readonly #clock: Clock;
  readonly #table: CounterTable;
  readonly #spaces = new Spaces();
  readonly #refusal = newCounter();

  constructor({ clock, maxKeys = DEFAULT_MAX_EVENT_KEYS }: EventCounterOptions) {
    this.#clock = clock;
    this.#table = new CounterTable(maxKeys);
  }

  /** Notes a refusal. True when an earlier one of the same key had told to wait longer, more than a second ago (see `inFlightMs`). */
  note(limit: Limit, caller: string, main: string, waitMs: number): boolean {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    this.#table.begin(nowMs);
    const { number } = this.#spaces.bind(limit).space;
    const part = limit.role === 'global' ? '' : main;
    const row = this.#table.find(number, caller, part);
    const refusal = this.#refusal;
    if (row >= 0) {
      this.#table.load(row, refusal);
      // `markMs` is when the key first refused, `resetMs` until when it told to wait.
      if (nowMs < refusal.resetMs) return nowMs - refusal.markMs > inFlightMs(limit);
    }
    refusal.markMs = nowMs;
    // Within the slack a client is not early.
    refusal.resetMs = nowMs + waitMs - limit.slackMs;
    const kept = row >= 0 ? row : this.#table.open(number, caller, part);
    if (kept >= 0) this.#table.save(kept, refusal);
    return false;
  }
}

/** How long after its first refusal a key's further ones are no fault. Global refusals count as invalid requests anyway. */
function inFlightMs({ role, algorithm, periodMs }: Limit): number {
  if (role !== 'caller' || algorithm !== 'window') return IN_FLIGHT_MS;
  return Math.min(IN_FLIGHT_MS, periodMs * IN_FLIGHT_PART);
}
