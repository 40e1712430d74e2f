import { expect, test, vi } from 'vitest';
import {
  Calendar,
  type CalendarUnit,
  calendarOf,
  isTimeZone,
} from '../../../../src/limits/counting/calendar.ts';

const at = (moment: string) => Date.parse(moment);
const text = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

test.each([
  ['day', 'UTC', '2026-11-29T15:00:00Z', '2026-11-29T00:00:00Z', '2026-11-30T00:00:00Z'],
  ['day', 'Europe/Berlin', '2026-06-01T21:59:59Z', '2026-05-31T22:00:00Z', '2026-06-01T22:00:00Z'],
  ['day', 'Asia/Kathmandu', '2026-06-01T00:00:00Z', '2026-05-31T18:15:00Z', '2026-06-01T18:15:00Z'],
  ['day', 'Pacific/Kiritimati', '2026-06-01T00:00:00Z', '2026-05-31T10:00:00Z', '2026-06-01T10:00:00Z'],
  ['day', 'Pacific/Pago_Pago', '2026-06-01T00:00:00Z', '2026-05-31T11:00:00Z', '2026-06-01T11:00:00Z'],
  // Days of 23 and 25 hours.
  ['day', 'Europe/Berlin', '2026-03-29T12:00:00Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
  ['day', 'Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
  ['day', 'Australia/Lord_Howe', '2026-04-05T00:00:00Z', '2026-04-04T13:00:00Z', '2026-04-05T13:30:00Z'],
  // A day without midnight begins at one o'clock; one whose first hour comes twice begins with the first.
  ['day', 'Africa/Cairo', '2026-04-24T12:00:00Z', '2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z'],
  ['day', 'America/Havana', '2026-11-01T12:00:00Z', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z'],
  // The clocks go back from midnight to eleven: the day before has 25 hours.
  ['day', 'Asia/Beirut', '2026-10-24T21:30:00Z', '2026-10-23T21:00:00Z', '2026-10-24T22:00:00Z'],
  // Samoa left out December 30, 2011.
  ['day', 'Pacific/Apia', '2011-12-30T09:00:00Z', '2011-12-29T10:00:00Z', '2011-12-30T10:00:00Z'],
  ['week', 'Europe/Berlin', '2026-11-29T15:00:00Z', '2026-11-22T23:00:00Z', '2026-11-29T23:00:00Z'],
  ['week', 'Europe/Berlin', '2026-11-29T23:00:00Z', '2026-11-29T23:00:00Z', '2026-12-06T23:00:00Z'],
  ['week', 'America/New_York', '2026-03-08T12:00:00Z', '2026-03-02T05:00:00Z', '2026-03-09T04:00:00Z'],
  ['month', 'UTC', '2026-12-31T23:59:59Z', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ['month', 'Europe/Berlin', '2026-10-05T00:00:00Z', '2026-09-30T22:00:00Z', '2026-10-31T23:00:00Z'],
  ['month', 'UTC', '2028-02-29T12:00:00Z', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
] as const)('the %s in %s around %s is from %s to %s', (unit, zone, moment, start, end) => {
  const calendar = new Calendar(unit, zone);
  const endMs = calendar.endAfter(at(moment));
  expect([text(calendar.startOf(endMs) ?? 0), text(endMs)]).toEqual([start, end]);
});

test.each<[CalendarUnit, string]>([
  ['day', 'Europe/Berlin'],
  ['day', 'Asia/Beirut'],
  ['day', 'America/Havana'],
  ['week', 'America/Sao_Paulo'],
  ['month', 'Pacific/Auckland'],
])(
  'the periods of a %s in %s follow each other without a gap, and every gateway names the same ends',
  (unit, zone) => {
    const calendar = new Calendar(unit, zone);
    const ends = [calendar.endAfter(at('2026-01-15T00:00:00Z'))];
    while (ends.length < 40) ends.push(calendar.endAfter(ends.at(-1) ?? 0));
    for (const [n, end] of ends.slice(2, -4).entries()) {
      expect(calendar.startOf(end)).toBe(ends[n + 1]);
      expect(calendar.endAfter(end - 1)).toBe(end);
      expect(new Calendar(unit, zone).endsAround(end)).toEqual(ends.slice(n + 1, n + 7));
      expect(new Calendar(unit, zone).endsAround(end - 1)).toEqual(ends.slice(n, n + 6));
    }
  },
);

test('the ends around a moment are reckoned once: each request asks for them', () => {
  const reckoned = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
  const calendar = new Calendar('day', 'Europe/Berlin');
  const [day, another] = ['2026-11-29T12:00:00Z', '2026-11-30T12:00:00Z'].map(at);
  const countFor = (ms = 0) => {
    reckoned.mockClear();
    calendar.endsAround(ms);
    return reckoned.mock.calls.length;
  };
  expect(countFor(day)).toBeGreaterThan(0);
  expect(countFor(day)).toBe(0);
  for (let later = 0; later < 30; later++) calendar.endsAround((another ?? 0) + later * 86_400_000);
  expect(countFor((another ?? 0) + 29 * 86_400_000)).toBe(0);
  reckoned.mockRestore();
});

test('the same zone has one calendar, and a name that the system does not know is none', () => {
  expect(calendarOf('day', 'Europe/Berlin')).toBe(calendarOf('day', 'Europe/Berlin'));
  expect(isTimeZone('Europe/Berlin')).toBe(true);
  expect(isTimeZone('Europe/Berlim')).toBe(false);
});
