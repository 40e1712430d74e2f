const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses a duration as operators write it (`250ms`, `5s`, `10m`, `1h`) to milliseconds; undefined for anything else. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0);
}

/** Formats a duration as the configuration writes it, in the largest unit without a fraction: `90s`, `2m`, `1500ms`. */
export function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
