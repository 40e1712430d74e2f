import { inNextTurn } from '../../core/index.ts';
import type { BoundLimit } from './bound-limit.ts';
import { type Counter, followCalendar } from './counter.ts';
import { type CounterRow, newRow, placeOfKeyspace } from './counter-table.ts';
import type { Counters } from './counters.ts';
import type { Limit } from './limit-definition.ts';

/** Rows between two turns of the event loop: some 50 microseconds, in which no other thread can decide. */
const ROWS_A_TURN = 500;
const ROW_BYTES = 48;

// Flags of a row. A row of an overflow counter has only the counter, and whether it is that of callers with tokens.
const OVERFLOW = 1;
const OF_TOKENS = 16;
const STAND_IN = 32;
const SHARED = 2;
const OPENED = 4;
const EXHAUSTED = 8;

/**
 * Saves the counters of some limits as bytes, and restores them after a restart. Both let the event loop do other work in
 * between.
 */
export class KeptCounters {
  readonly #counters: Counters;
  readonly #row = newRow();

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  /** A number that changes with each change of a counter, once changes are tracked. */
  get changes(): number {
    return this.#counters.changes;
  }

  async countChanges(): Promise<void> {
    await this.#counters.memory.soon(() => this.#counters.trackChanges());
  }

  /** The limits in force whose windows are at least this long. */
  limits(leastMs: number): readonly Limit[] {
    return this.#counters.keyspaces.inForce.filter(({ periodMs }) => periodMs >= leastMs);
  }

  /**
   * The unexpired counters of these limits. A counter that changes meanwhile is included as before or after the change. Times are
   * milliseconds since the epoch.
   */
  async *rows(limits: readonly Limit[]): AsyncGenerator<Buffer> {
    const { memory, table } = this.#counters;
    const bound = await memory.soon(() => limits.map(limit => this.#counters.keyspaces.bind(limit)));
    const places = new Map(bound.map(({ keyspace }, at) => [placeOfKeyspace(keyspace), at]));
    yield await memory.soon(() => this.#overflows(bound));
    for (let from = 0; from < table.used; from += ROWS_A_TURN) {
      yield await memory.soon(() => this.#rowsFrom(from, limits, places));
      await new Promise<void>(resolve => inNextTurn(resolve));
    }
  }

  /**
   * Restores what `rows` saved for limits of these identities, except limits no longer in force, shorter ones, and windows that
   * have ended. Returns the number of counters restored.
   */
  async restore(identities: readonly string[], rows: Buffer, leastMs: number): Promise<number> {
    const { memory } = this.#counters;
    const inForce = new Map(this.limits(leastMs).map(limit => [limit.identity, limit]));
    const limits = identities.map(identity => inForce.get(identity) ?? null);
    let taken = 0;
    for (let at = 0; at < rows.length; at += ROWS_A_TURN * ROW_BYTES) {
      const some = rows.subarray(at, at + ROWS_A_TURN * ROW_BYTES);
      taken += await memory.soon(() => this.#take(limits, some));
      await new Promise<void>(resolve => inNextTurn(resolve));
    }
    return taken;
  }

  #overflows(bound: readonly BoundLimit[]): Buffer {
    const offsetMs = this.#readOffset();
    const rows = new RowWriter(2 * bound.length);
    const row = newRow();
    for (const [at, each] of bound.entries())
      for (const ofTokens of [false, true]) {
        each.loadOverflow(row.counter, ofTokens);
        this.#follow(row.counter, each.limit);
        if (row.counter.resetMs <= this.#counters.moment.nowMs) continue;
        rows.write(row, OVERFLOW | (ofTokens ? OF_TOKENS : 0), at, each.limit, offsetMs);
      }
    return rows.written;
  }

  #rowsFrom(from: number, limits: readonly Limit[], places: ReadonlyMap<number, number>): Buffer {
    const { table, moment } = this.#counters;
    const offsetMs = this.#readOffset();
    const row = this.#row;
    const rows = new RowWriter(ROWS_A_TURN);
    for (let record = from; record < Math.min(from + ROWS_A_TURN, table.used); record++) {
      const at = places.get(placeOfKeyspace(table.keyspaceAt(record)));
      const limit = at === undefined ? undefined : limits[at];
      if (at === undefined || limit === undefined) continue;
      table.readRow(record, row);
      this.#follow(row.counter, limit);
      if (row.counter.resetMs <= moment.nowMs) continue;
      const flags =
        (row.isShared ? SHARED : 0) | (row.isOpened ? OPENED : 0) | (row.isStandIn ? STAND_IN : 0);
      rows.write(row, flags, at, limit, offsetMs);
    }
    return rows.written;
  }

  #take(limits: readonly (Limit | null)[], rows: Buffer): number {
    const { memory, table, keyspaces, moment } = this.#counters;
    const offsetMs = this.#readOffset();
    const { nowMs } = moment;
    const row = this.#row;
    let taken = 0;
    for (let at = 0; at + ROW_BYTES <= rows.length; at += ROW_BYTES) {
      const limit = limits[rows.readUInt16LE(at)] ?? null;
      if (limit === null) continue;
      const flags = readRow(rows, at, row, limit, offsetMs);
      const { counter } = row;
      // If the clock was set back, a window must still end within its period.
      const mostMs = nowMs + limit.periodMs + limit.slackMs;
      if (limit.calendar === null) counter.resetMs = Math.min(counter.resetMs, mostMs);
      else this.#follow(counter, limit);
      if (limit.algorithm === 'smooth') counter.markMs = Math.min(counter.markMs, mostMs);
      if (counter.resetMs <= nowMs) continue;
      const bound = keyspaces.bind(limit);
      if ((flags & OVERFLOW) !== 0) bound.saveOverflow(counter, (flags & OF_TOKENS) !== 0);
      else if (!table.restore(bound.keyspace, row, nowMs)) continue;
      taken++;
      memory.keep();
    }
    return taken;
  }

  /** Places the window of a calendar by the clock of now. */
  #follow(counter: Counter, { calendar }: Limit): void {
    const { nowMs, steadyOffsetMs } = this.#counters.moment;
    if (calendar !== null) followCalendar(counter, calendar, nowMs, steadyOffsetMs);
  }

  /** Reads the clock. Returns the difference between its times and times since the epoch. */
  #readOffset(): number {
    const { moment } = this.#counters;
    this.#counters.readClock();
    return moment.steadyEpochMs - moment.nowMs;
  }
}

/** Writes rows one after the other. A row: the index of its limit, flags, caller, network, part and counter; little-endian. */
class RowWriter {
  readonly #bytes: Buffer;
  #end = 0;

  constructor(most: number) {
    this.#bytes = Buffer.allocUnsafe(most * ROW_BYTES);
  }

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** `offsetMs`: from the times of the row to those since the epoch. */
  write(row: CounterRow, flags: number, limitAt: number, { algorithm }: Limit, offsetMs: number): void {
    const bytes = this.#bytes;
    const at = this.#end;
    const { counter } = row;
    bytes.writeUInt16LE(limitAt, at);
    bytes.writeUInt16LE(flags | (counter.exhausted ? EXHAUSTED : 0), at + 2);
    bytes.writeInt32LE(row.callerLow, at + 4);
    bytes.writeInt32LE(row.callerHigh, at + 8);
    bytes.writeInt32LE(row.network, at + 12);
    bytes.writeInt32LE(row.partLow, at + 16);
    bytes.writeInt32LE(row.partHigh, at + 20);
    bytes.writeInt32LE(counter.count, at + 24);
    bytes.writeInt32LE(0, at + 28);
    bytes.writeDoubleLE(counter.resetMs + offsetMs, at + 32);
    bytes.writeDoubleLE(counter.markMs + (algorithm === 'smooth' ? offsetMs : 0), at + 40);
    this.#end += ROW_BYTES;
  }
}

/** Returns the flags. */
function readRow(bytes: Buffer, at: number, row: CounterRow, { algorithm }: Limit, offsetMs: number): number {
  const flags = bytes.readUInt16LE(at + 2);
  const { counter } = row;
  row.isShared = (flags & SHARED) !== 0;
  row.isOpened = (flags & OPENED) !== 0;
  row.isStandIn = (flags & STAND_IN) !== 0;
  row.callerLow = bytes.readInt32LE(at + 4);
  row.callerHigh = bytes.readInt32LE(at + 8);
  row.network = bytes.readInt32LE(at + 12);
  row.partLow = bytes.readInt32LE(at + 16);
  row.partHigh = bytes.readInt32LE(at + 20);
  counter.count = bytes.readInt32LE(at + 24);
  counter.exhausted = (flags & EXHAUSTED) !== 0;
  counter.resetMs = bytes.readDoubleLE(at + 32) - offsetMs;
  counter.markMs = bytes.readDoubleLE(at + 40) - (algorithm === 'smooth' ? offsetMs : 0);
  return flags;
}
