import { RecentMap } from '../../core/index.ts';

/** A period of the calendar, from midnight to midnight: a day, a week from Monday on, or a month. */
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

export const CALENDAR_UNITS = ['day', 'week', 'month'] as const;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** How long such a period is at most, apart from changes of clocks. */
export const CALENDAR_MS: Readonly<Record<CalendarUnit, number>> = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
};

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** A moment of local time, as if the zone were UTC. */
type LocalMs = number;

/** Calendars keep the last of their periods: those around now, since reckoning one takes half a millisecond. */
const MAX_SPANS = 8;

/**
 * The periods of one kind in one time zone. All times are milliseconds since the epoch. Where clocks change at midnight, a period
 * begins at its first moment, so a day may have 23 or 25 hours.
 */
export class Calendar {
  readonly unit: CalendarUnit;
  readonly timeZone: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #known: Span[] = [];

  constructor(unit: CalendarUnit, timeZone: string) {
    this.unit = unit;
    this.timeZone = timeZone;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  }

  /** The end of the period that a moment is in: later than the moment. */
  endAfter(ms: number): number {
    return this.#spanAt(ms).endMs;
  }

  /** The start of the period that ends at this moment; `null` if none does, as after a change of the time zone. */
  startOf(endMs: number): number | null {
    const span = this.#spanAt(endMs - 1);
    return span.endMs === endMs ? span.startMs : null;
  }

  /** The ends of the two periods before a moment, and of the four from then on. */
  endsAround(ms: number): readonly number[] {
    const { startMs, endMs } = this.#spanAt(ms);
    const ends = [this.#spanAt(startMs - 1).startMs, startMs, endMs];
    while (ends.length < 6) ends.push(this.#spanAt(ends.at(-1) ?? ms).endMs);
    return ends;
  }

  #spanAt(ms: number): Span {
    for (const span of this.#known) if (ms >= span.startMs && ms < span.endMs) return span;
    const span = this.#find(ms);
    this.#known.unshift(span);
    this.#known.length = Math.min(this.#known.length, MAX_SPANS);
    return span;
  }

  #find(ms: number): Span {
    let date = this.#dateAt(this.#localAt(ms));
    // Clocks that go back over midnight read the day before once more.
    while (this.#startOfDate(date) > ms) date = this.#move(date, -1);
    let next = this.#move(date, 1);
    while (this.#startOfDate(next) <= ms) [date, next] = [next, this.#move(next, 1)];
    return { startMs: this.#startOfDate(date), endMs: this.#startOfDate(next) };
  }

  /** The first moment of a date. No zone is more than 14 hours ahead of UTC, or 12 behind. */
  #startOfDate(date: LocalMs): number {
    let before = (date - 15 * HOUR_MS) / 1_000;
    let after = (date + 13 * HOUR_MS) / 1_000;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#localAt(middle * 1_000) < date) before = middle;
      else after = middle;
    }
    return after * 1_000;
  }

  #localAt(ms: number): LocalMs {
    const parts = this.#format.formatToParts(ms);
    const of = (type: string) => Number(parts.find(part => part.type === type)?.value);
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  }

  /** The date at which the period around a local time begins. */
  #dateAt(local: LocalMs): LocalMs {
    const day = local - (((local % DAY_MS) + DAY_MS) % DAY_MS);
    const date = new Date(day);
    if (this.unit === 'week') return day - ((date.getUTCDay() + 6) % 7) * DAY_MS;
    return this.unit === 'day' ? day : Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  }

  #move(date: LocalMs, by: 1 | -1): LocalMs {
    if (this.unit !== 'month') return date + by * CALENDAR_MS[this.unit];
    const first = new Date(date);
    return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + by, 1);
  }
}

/** A calendar is large, and all limits with the same unit and time zone share one. */
const calendars = new RecentMap<Calendar>(16);

export function calendarOf(unit: CalendarUnit, timeZone: string): Calendar {
  const key = `${unit} ${timeZone}`;
  const calendar = calendars.get(key) ?? new Calendar(unit, timeZone);
  calendars.set(key, calendar);
  return calendar;
}

/** Whether the system knows a time zone of this name. */
export function isTimeZone(name: string): boolean {
  // Of the default, nobody has to load all time zones for 15 ms.
  if (name === 'UTC') return true;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
