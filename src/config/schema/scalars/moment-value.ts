/** The last second of the year 9999: anything larger was meant as milliseconds. */
const MAX_SECONDS = 253_402_300_799;

/**
 * Parses a moment into seconds since the epoch: RFC 3339 with whole seconds (`2026-01-31T12:00:00Z`, `...+01:00`), or Unix
 * seconds. Returns undefined for anything else.
 */
export function parseMomentS(text: string): number | undefined {
  if (/^\d{1,12}$/.test(text)) return Number(text) <= MAX_SECONDS ? Number(text) : undefined;
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '', zone = ''] = match;
  // Date.parse reads February 30 as March 2: only text that survives the round trip is a date.
  const asUtc = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(asUtc) || new Date(asUtc).toISOString() !== `${date}T${time}.000Z`) return undefined;
  const seconds = Date.parse(`${date}T${time}${zone}`) / 1_000;
  return seconds >= 0 && seconds <= MAX_SECONDS ? seconds : undefined;
}
