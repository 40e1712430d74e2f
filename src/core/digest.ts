import { hash } from 'node:crypto';

/** Digits of base64url: 132 bits, enough that no two texts share a digest. */
const DIGITS = 22;

/** Identifies a text where the text itself must not be readable, such as in a Redis key. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGITS);
}
