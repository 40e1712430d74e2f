import type { CalendarUnit } from '../../src/limits/counting/calendar.ts';
import type { Draws } from './kernel/draws.ts';

/** A moment at which days end, or clocks change, in a time zone: a world goes over it. */
export interface Night {
  readonly timeZone: string;
  /** In milliseconds since the epoch. */
  readonly momentMs: number;
  /** When its periods end around that moment, in order, in milliseconds since the epoch. */
  readonly ends: Readonly<Record<CalendarUnit, readonly number[]>>;
}

interface Season {
  readonly timeZone: string;
  readonly moments: readonly string[];
  readonly day: readonly string[];
  readonly week: readonly string[];
  readonly month: readonly string[];
}

/** As calendars on paper have them: nothing here is reckoned. All of 2031. */
const SEASONS: readonly Season[] = [
  {
    // On March 30, a Sunday, 01:00 UTC, clocks go forward: that day has 23 hours.
    timeZone: 'Europe/Berlin',
    moments: ['03-29T23:00', '03-30T01:00', '03-30T22:00', '03-31T22:00'],
    day: ['03-28T23:00', '03-29T23:00', '03-30T22:00', '03-31T22:00', '04-01T22:00', '04-02T22:00'],
    week: ['03-23T23:00', '03-30T22:00', '04-06T22:00', '04-13T22:00'],
    month: ['02-28T23:00', '03-31T22:00', '04-30T22:00', '05-31T22:00'],
  },
  {
    // On October 26, a Sunday, 01:00 UTC, clocks go back: that day has 25 hours.
    timeZone: 'Europe/Berlin',
    moments: ['10-25T22:00', '10-26T01:00', '10-26T23:00'],
    day: ['10-24T22:00', '10-25T22:00', '10-26T23:00', '10-27T23:00', '10-28T23:00'],
    week: ['10-19T22:00', '10-26T23:00', '11-02T23:00', '11-09T23:00'],
    month: ['09-30T22:00', '10-31T23:00', '11-30T23:00'],
  },
  {
    // April 25 has no midnight: it begins at one o'clock.
    timeZone: 'Africa/Cairo',
    moments: ['04-24T22:00', '04-25T21:00'],
    day: ['04-23T22:00', '04-24T22:00', '04-25T21:00', '04-26T21:00', '04-27T21:00'],
    week: ['04-20T22:00', '04-27T21:00', '05-04T21:00', '05-11T21:00'],
    month: ['03-31T22:00', '04-30T21:00', '05-31T21:00'],
  },
  {
    // At the first midnight of October 26 it is eleven again: October 25 has 25 hours.
    timeZone: 'Asia/Beirut',
    moments: ['10-25T21:00', '10-25T22:00'],
    day: ['10-24T21:00', '10-25T22:00', '10-26T22:00', '10-27T22:00', '10-28T22:00'],
    week: ['10-19T21:00', '10-26T22:00', '11-02T22:00', '11-09T22:00'],
    month: ['09-30T21:00', '10-31T22:00', '11-30T22:00'],
  },
  {
    // The first hour of November 2 comes twice, and is of one day.
    timeZone: 'America/Havana',
    moments: ['11-02T04:00', '11-02T05:00'],
    day: ['11-01T04:00', '11-02T04:00', '11-03T05:00', '11-04T05:00', '11-05T05:00'],
    week: ['10-27T04:00', '11-03T05:00', '11-10T05:00', '11-17T05:00'],
    month: ['11-01T04:00', '12-01T05:00'],
  },
  {
    timeZone: 'UTC',
    moments: ['03-31T00:00', '04-01T00:00'],
    day: ['03-30T00:00', '03-31T00:00', '04-01T00:00', '04-02T00:00', '04-03T00:00'],
    week: ['03-24T00:00', '03-31T00:00', '04-07T00:00', '04-14T00:00'],
    month: ['03-01T00:00', '04-01T00:00', '05-01T00:00', '06-01T00:00'],
  },
];

const at = (moment: string) => Date.parse(`2031-${moment}:00Z`);

export function nightOf(draws: Draws): Night {
  const { timeZone, moments, day, week, month } = draws.one(SEASONS);
  return {
    timeZone,
    momentMs: at(draws.one(moments)),
    ends: { day: day.map(at), week: week.map(at), month: month.map(at) },
  };
}

/** When the period ends that a moment is in. */
export function endAfter({ ends }: Night, unit: CalendarUnit, ms: number): number {
  const end = ends[unit].find(each => each > ms);
  if (end === undefined || ms < (ends[unit][0] ?? ms))
    throw new Error(`no ${unit} of the night is around ${ms}`);
  return end;
}
