/**
 * Characters that a reader does not see and a terminal may obey: controls (C0 but the line feed and the tab, DEL, C1), line and
 * paragraph separators, and the marks that change the direction of text, so that it reads as something else.
 */
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Replaces characters that are not seen by their escape in JSON (`\u009b`): what was valid JSON means the same. */
export function escapeUnseen(text: string): string {
  return text.replaceAll(UNSEEN, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
