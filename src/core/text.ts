import { hash } from 'node:crypto';

/** V8 copies shorter substrings anyway. */
const CUT_FROM = 13;

/**
 * Copies a text before it is stored: a substring keeps its whole parent alive, so a map of ten thousand addresses could keep ten
 * thousand request heads. For well-formed text only, as in fields and decoded paths.
 */
export function ownString(text: string): string {
  return text.length < CUT_FROM ? text : Buffer.from(text, 'utf8').toString('utf8');
}

/** Digits of base64url: 132 bits, enough that no two texts share a digest. */
export const DIGEST_DIGITS = 22;

/** Identifies a text in places where the text itself must not be readable, such as a Redis key. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_DIGITS);
}

/** The key under which a token is remembered: the token itself is a secret, and longer. */
export function hashOfToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/**
 * Characters that are invisible to a reader but not to a terminal: controls (C0 except line feed and tab, DEL, C1), line and
 * paragraph separators, and the marks that change the direction of text, so that it reads as something else.
 */
const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Replaces invisible characters by their JSON escape (`\u009b`): the meaning of valid JSON stays the same. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, also within the quotation marks of an attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => HTML_ESCAPES[character] ?? '');
}

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

/** The value in a JSON text; `undefined` if it is not JSON. Drops the error: it quotes the text, which may be a secret. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Writes JSON in ASCII, so that each character is one byte in every encoding. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Whether a code of Node.js means that the authority of a certificate is not trusted here. */
export function isUnknownAuthority(code: string): boolean {
  return UNKNOWN_AUTHORITY.has(code);
}

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
]);

/** The stack of a thrown value, or else its text. */
export function errorStack(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
