import { hash } from 'node:crypto';

import { decodeSegment } from './target.ts';

/** A longer value is kept as its hash: keys are bounded, segments are not. */
const MAX_LENGTH = 64;

/**
 * The value of a main parameter, from the segment as it stands in the canonical path: decoded, and without what some services
 * cut off behind a semicolon, so that no other spelling is another key. Null: its bytes are not UTF-8.
 */
export function mainValue(segment: string): string | null {
  const end = segment.search(/;|%3B/);
  const value = decodeSegment(end === -1 ? segment : segment.slice(0, end));
  if (value === null || value.length <= MAX_LENGTH) return value;
  return hash('sha256', value, 'base64url');
}
