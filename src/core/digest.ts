import { hash } from 'node:crypto';

/** Digits of base64url: 132 bits, so that no two texts ever share one. */
const DIGITS = 22;

/** Names something in a place where its text is not to be read, such as a key of Redis. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGITS);
}
