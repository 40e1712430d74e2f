import type { FilePlace } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import type { Limit } from '../limits/index.ts';

/** One fact: what it is about, and the fact in words. */
export type Row = readonly [label: string, text: string];

export const IN_SHADOW = 'in shadow: it refuses nobody';

export function formatQuota({ units, periodMs }: Limit): string {
  return `${units} in ${formatDuration(periodMs)}`;
}

/** Formats where a limit is written: `config/limits.yaml:7`, or that it is the default. */
export function formatPlace(place: FilePlace | null): string {
  return place === null ? 'the default' : `${place.file}:${place.line}`;
}
