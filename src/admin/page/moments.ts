import { isoTime } from '../status.ts';
import { type Html, html } from './html.ts';

/** A moment for people: the UTC time to the second, and how far off it is. */
export function moment(epochMs: number, nowMs: number): Html {
  const iso = isoTime(epochMs);
  const words = epochMs > nowMs ? `in ${span(epochMs - nowMs)}` : `${span(nowMs - epochMs)} ago`;
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}Z</time> <small>(${words})</small>`;
}

/** A length of time in its two largest units: `3d 4h`, `12m 5s`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(([number]) => number > 0)
    .map(([number, unit]) => `${number}${unit}`)
    .join(' ');
}
