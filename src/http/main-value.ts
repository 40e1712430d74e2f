import { hash } from 'node:crypto';

import { decodeSegment } from './target.ts';

/** Longer values are replaced by their hash, since clients choose the length of a segment and keys must be bounded. */
const MAX_LENGTH = 64;

/**
 * The value of a main parameter, from its segment of the canonical path: decoded, and cut at the first semicolon as some
 * services do, so that no second spelling of a value gets a second key. Null: its bytes are not UTF-8.
 */
export function mainValue(segment: string): string | null {
  const end = segment.search(/;|%3B/);
  const value = decodeSegment(end === -1 ? segment : segment.slice(0, end));
  if (value === null || value.length <= MAX_LENGTH) return value;
  return hash('sha256', value, 'base64url');
}
