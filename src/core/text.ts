import { hash } from 'node:crypto';

/** V8 copies shorter substrings anyway. */
const CUT_FROM = 13;

/**
 * Copies a text before it is stored: a substring keeps its whole parent alive, so a map of ten thousand addresses could hold ten
 * thousand request heads. For well-formed text only, as in fields and decoded paths.
 */
export function ownString(text: string): string {
  return text.length < CUT_FROM ? text : Buffer.from(text, 'utf8').toString('utf8');
}

/** Digits of base64url: 132 bits, enough that no two texts share a digest. */
const DIGITS = 22;

/** Identifies a text where the text itself must not be readable, such as in a Redis key. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGITS);
}

/**
 * Characters that a reader does not see and a terminal may obey: controls (C0 but the line feed and the tab, DEL, C1), line and
 * paragraph separators, and the marks that change the direction of text, so that it reads as something else.
 */
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Replaces characters that are not seen by their escape in JSON (`\u009b`): what was valid JSON means the same. */
export function escapeUnseen(text: string): string {
  return text.replaceAll(UNSEEN, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
