const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Parses a size (`512B`, `64KiB`, `10MiB`, `1GiB`) into bytes. Returns undefined for anything else. */
export function parseSizeBytes(text: string): number | undefined {
  const match = /^(\d{1,9})(B|KiB|MiB|GiB)$/.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats bytes in the largest unit without a fraction: `512B`, `64KiB`. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  while (bytes >= 1024 && bytes % 1024 === 0 && unit < units.length - 1) {
    bytes /= 1024;
    unit++;
  }
  return `${bytes}${units[unit]}`;
}
