import { hash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { allValues, type Fields } from '../../core/index.ts';
import { HEX, type Rejection } from '../http1/index.ts';

/** A request target in the single form used for routing, limits, counting and the upstream. */
export interface Target {
  /**
   * Begins with a slash; the same for all spellings that RFC 3986, 6.2.2 treats as equivalent, except for letter case. Or `*` for
   * an OPTIONS request about the whole server.
   */
  readonly path: string;
  /** The query as received, including the `?`; '' if there is none. */
  readonly query: string;
  /** True if the path contains `;` or `%3B`, where some backends cut off parameters. Not every route accepts that. */
  readonly semicolon: boolean;
}

/**
 * Returns the canonical form of a request target (RFC 9112, 3.2), or why it is rejected. `host` is the value of the `Host` field;
 * `method` matters only for OPTIONS, the only method with an asterisk-form.
 *
 * Rejects every target that a backend could read as another path than the one that was routed: dot segments, empty segments, and
 * escaped slashes, backslashes and control characters. Resolves and repairs nothing: honest clients have already done so.
 */
export function parseTarget(target: string, host: string, method = ''): Target | Rejection {
  if (target.charCodeAt(0) === SLASH) return parseOriginForm(target);
  if (target === '*' && method === 'OPTIONS') return ASTERISK;
  const absolute = ABSOLUTE_FORM.exec(target);
  if (absolute === null) return REJECTED.form;
  const [, authority = '', rest = ''] = absolute;
  if (authority.toLowerCase() !== host.toLowerCase()) return REJECTED.authority;
  // RFC 9112, 3.2.4: to a proxy, clients write `*` as a URL with neither a path nor a query.
  if (rest === '' && method === 'OPTIONS') return ASTERISK;
  return parseOriginForm(rest.startsWith('/') ? rest : `/${rest}`);
}

/** A target with escaped slashes or empty segments, which only some routes accept. */
export interface LooseTarget extends Target {
  /**
   * The path with single slashes, which is used to find the route; escaped slashes stay. `path` has all slashes that were received.
   */
  readonly merged: string;
  readonly escapedSlash: boolean;
  readonly emptySegment: boolean;
}

/** Reads a target that `parseTarget` rejects only for escaped slashes or empty segments. Rejects all others. */
export function parseLooseTarget(target: string, host: string, method: string): LooseTarget | Rejection {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?#]+)?([^?]*)(.*)$/is.exec(target) ?? [];
  const merged = path.replace(/\/{2,}/g, '/');
  // With a letter in place of each escaped slash, this finds whatever else is wrong with the path.
  const others = parseTarget(
    target.slice(0, target.length - path.length - query.length) + merged.replace(/%2f/gi, 'x') + query,
    host,
    method,
  );
  if ('rejected' in others) return others;
  const canonical = canonicalEscapes(path, '%2F') ?? '';
  return {
    ...others,
    path: canonical,
    merged: canonical.replace(/\/{2,}/g, '/'),
    escapedSlash: canonical.includes('%2F'),
    emptySegment: merged !== path,
  };
}

/**
 * The path of a target as its client knows it: in canonical form, with the escaped slashes and empty segments that only some routes
 * accept. `null` if every route rejects it.
 */
export function pathAsSent(target: string, host: string): string | null {
  const strict = parseTarget(target, host);
  const read = 'rejected' in strict ? parseLooseTarget(target, host, '') : strict;
  return 'rejected' in read ? null : read.path;
}

/** The path by which the route and the limits of a request are found: it has single slashes. */
export function pathToFind(target: Target | LooseTarget): string {
  return isLoose(target) ? target.merged : target.path;
}

export function isLoose(target: Target | LooseTarget): target is LooseTarget {
  return 'merged' in target;
}

/** Returns the authority of a target in absolute-form; `null` for the other forms. */
export function authorityOf(target: string): string | null {
  return ABSOLUTE_FORM.exec(target)?.[1] ?? null;
}

/**
 * Percent-decodes a path segment as UTF-8, so that all spellings of a value become one. Returns `null` if the bytes are not UTF-8.
 */
export function decodeSegment(raw: string): string | null {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return null;
  }
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]+)(.*)$/is;
const ASTERISK: Target = { path: '*', query: '', semicolon: false };
const SLASH = 0x2f;
const DOT = 0x2e;
const PERCENT = 0x25;
const SEMICOLON = 0x3b;

const REJECTED = {
  form: { rejected: 'the request target is neither a path nor an http URL' },
  authority: { rejected: 'the request target names another host than the Host header' },
  dotSegment: { rejected: 'the path has a "." or ".." segment: send the path that it leads to' },
  emptySegment: { rejected: 'the path has an empty segment: send single slashes' },
  escape: {
    rejected:
      'the path has a "%" that is not an escape, or the escape of a slash, backslash or control character',
  },
  character: {
    rejected: 'the request target has a backslash, a "#", a space, a control character or one outside ASCII',
  },
} as const satisfies Record<string, Rejection>;

/** Reasons for which paths are rejected, except on some routes. */
export const REJECTED_PATHS = {
  emptySegment: REJECTED.emptySegment.rejected,
  escape: REJECTED.escape.rejected,
} as const;

/** Overlong UTF-8 as bytes, see OVERLONG. */
const OVERLONG_BYTES = /[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;

/**
 * Whether a segment of a canonical path, decoded once or twice, contains an empty segment, `.` or `..`, a backslash or a NUL: a
 * service that decodes paths could be led to another one.
 */
export function ambiguousOnDecoding(path: string): boolean {
  return path.split('/').some(segment => {
    if (!segment.includes('%')) return false;
    const once = decodeBytes(segment);
    return [once, decodeBytes(once)].some(
      text =>
        /[\\\0]/.test(text) ||
        OVERLONG_BYTES.test(text) ||
        text.split('/').some(part => /^\.{0,2}(?:;.*)?$/s.test(part)),
    );
  });
}

/** Decodes each escape to the character of its byte. */
export function decodeBytes(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

function parseOriginForm(target: string): Target | Rejection {
  const question = target.indexOf('?');
  const sent = question === -1 ? target : target.slice(0, question);
  const query = question === -1 ? '' : target.slice(question);
  if (!isPlainQuery(query)) return REJECTED.character;
  const path = sent.includes('%') ? canonicalEscapes(sent) : sent;
  return path === null || OVERLONG.test(path) ? REJECTED.escape : judgePath(path, query);
}

/** Checks every character of a path with canonical escapes, in one pass. */
function judgePath(path: string, query: string): Target | Rejection {
  let semicolon = false;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (ORDINARY[code] === 1) continue;
    if (code === SLASH) {
      const next = path.charCodeAt(i + 1);
      if (next === SLASH) return REJECTED.emptySegment;
      if (next === DOT && isDotSegment(path, i + 1)) return REJECTED.dotSegment;
      if (beginsParameter(path, i + 1) && path.includes('/', i + 1)) return REJECTED.emptySegment;
    } else if (code === SEMICOLON || (code === PERCENT && path.startsWith('3B', i + 1))) semicolon = true;
    else if (code !== PERCENT) return REJECTED.character;
  }
  return { path, query, semicolon };
}

/** Whether the segment at `start` is `.` or `..`, also followed by a parameter that some backends cut off (`..;x`). */
function isDotSegment(path: string, start: number): boolean {
  const end = path.charCodeAt(start + 1) === DOT ? start + 2 : start + 1;
  const code = path.charCodeAt(end);
  return end === path.length || code === SLASH || code === SEMICOLON || path.startsWith('%3B', end);
}

/**
 * Whether the segment at `start` is only a parameter (`;x`). Backends that cut parameters off see an empty segment there. At the
 * end of a path (`/app/;jsessionid=1`) they see a slash at its end; elsewhere, those that merge slashes read another path.
 */
function beginsParameter(path: string, start: number): boolean {
  return path.charCodeAt(start) === SEMICOLON || path.startsWith('%3B', start);
}

function isPlainQuery(query: string): boolean {
  for (let i = 0; i < query.length; i++) if (IN_QUERY[query.charCodeAt(i)] !== 1) return false;
  return true;
}

/**
 * Writes each escape in its canonical form (RFC 3986, 6.2.2): decoded if it need not be escaped, else in upper case. Returns
 * `null` if an escape is rejected.
 *
 * @param ofSlash the form of an escaped slash; '' to reject it
 */
function canonicalEscapes(path: string, ofSlash = ''): string | null {
  let canonical = '';
  let done = 0;
  for (let at = path.indexOf('%'); at !== -1; at = path.indexOf('%', done)) {
    const byte = (hexDigit(path.charCodeAt(at + 1)) << 4) | hexDigit(path.charCodeAt(at + 2));
    const spelling = byte === SLASH ? ofSlash : SPELLING[byte];
    if (spelling === undefined || spelling === '') return null;
    canonical += path.slice(done, at) + spelling;
    done = at + 3;
  }
  return canonical + path.slice(done);
}

/**
 * Overlong UTF-8, which decoders must not accept (RFC 3629, 3): careless ones decode `%C0%AF` to `/` and `%C0%AE` to `.`. Other
 * bytes that are not UTF-8 pass unchanged; no literal in a route can match them.
 */
const OVERLONG = /%(?:C[01]%[89AB]|E0%[89]|F0%8)/;

/** Returns the value of a hex digit; -1 for other codes. */
function hexDigit(code: number): number {
  return HEX[code] ?? -1;
}

// Tables by character code. Codes outside Latin-1 read as undefined, so they are never accepted.
const CODES = Array.from({ length: 256 }, (_, code) => code);
const isControl = (code: number) => code < 0x20 || code === 0x7f;
const isPrintable = (code: number) => code > 0x20 && code < 0x7f;

/** Holds 1 for each character of a query: printable ASCII without `#`, which starts a fragment. */
const IN_QUERY = Uint8Array.from(CODES, code => (isPrintable(code) && code !== 0x23 ? 1 : 0));

/** Holds 1 for each character of a path that needs no further check. */
const ORDINARY = Uint8Array.from(CODES, code =>
  isPrintable(code) && !'#?\\/;%'.includes(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * The canonical form of each byte's escape; '' if it is rejected. All control characters are: no real path contains one, and a
 * backend that decodes the path before it logs or copies it would emit a line break.
 */
const SPELLING = CODES.map(code => {
  const character = String.fromCharCode(code);
  if (isControl(code) || character === '/' || character === '\\') return '';
  if (/[A-Za-z0-9\-._~]/.test(character)) return character;
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Longer values are replaced by their hash, since clients choose the length of a segment and keys must be bounded. */
const MAX_LENGTH = 64;

/**
 * Returns the value of a main parameter from its segment of the canonical path: decoded, and cut at the first semicolon as some
 * services do, so that no alternative spelling of a value gets its own key. Returns `null` if its bytes are not UTF-8.
 */
export function mainValue(segment: string): string | null {
  const end = segment.search(/;|%3B/);
  const value = decodeSegment(end === -1 ? segment : segment.slice(0, end));
  if (value === null || value.length <= MAX_LENGTH) return value;
  return hash('sha256', value, 'base64url');
}

// RFC 9110, 7.2 and RFC 3986, 3.2: a name or IPv4 address (reg-name without escapes), optionally with the dot of the root, or a
// bracketed IPv6 address, then optionally a port up to 65535, which may be empty. No user, comma, empty label or path: proxies and backends disagree
// about those.
const HOST =
  /^(?:([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?|\[([0-9a-f:.]+)\])(?::(?:|[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?$/i;

/**
 * Returns the host of a `Host` field in the single form used to choose routes: in lower case, without port and root dot, IPv6
 * addresses in brackets and as RFC 5952 writes them. Returns `null` if some server could read it as another host.
 */
export function readHost(value: string): string | null {
  const match = value.length > 255 ? null : HOST.exec(value);
  if (match === null) return null;
  const [, name, address] = match;
  if (name !== undefined) return name.toLowerCase();
  return address !== undefined && isIPv6(address) ? new URL(`http://[${address}]`).hostname : null;
}

/**
 * Whether the host of an http or https URL is an IPv4 address in a form other than four decimal numbers, such as `0x7f.1`.
 * Programs disagree about which host that is, including those that check the name in a certificate. Source:
 * https://url.spec.whatwg.org/#concept-ipv4-parser
 */
export function hasOddIpv4(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? '';
  const [, written] = /^https?:[\\/]*(?:[^/?#\\]*@)?([^/?#:\\]*)/i.exec(url) ?? [];
  return isIPv4(hostname) && written !== hostname;
}

/** Returns the value of a `Host` field in one spelling: the host that `readHost` found, and its port without leading zeros. */
export function canonicalHost(value: string, host: string): string {
  if (value === host) return host;
  const [, port] = /:(\d+)$/.exec(value) ?? [];
  return port === undefined ? host : `${host}:${Number(port)}`;
}

/** The maximum, to which larger numbers are lowered, as RFC 9110, 7.6.2 allows. */
const MAX = 2 ** 31 - 1;
const NAME = 'max-forwards';

/**
 * Reads how often a request with these fields may still be forwarded (RFC 9110, 7.6.2); `null` for no limit. Rejects fields that
 * two servers could read as different numbers.
 */
export function readMaxForwards(fields: Fields): number | null | Rejection {
  const [value, ...others] = allValues(fields, NAME);
  if (value === undefined) return null;
  if (others.length > 0) return TWICE;
  return /^\d+$/.test(value) ? Math.min(Number(value), MAX) : NO_NUMBER;
}

/** Replaces the first `Max-Forwards`, or appends one. */
export function writeMaxForwards(fields: string[], maxForwards: number): void {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() !== NAME) continue;
    fields[i + 1] = String(maxForwards);
    return;
  }
  fields.push('Max-Forwards', String(maxForwards));
}

const TWICE: Rejection = { rejected: 'the header field "max-forwards" came twice' };
const NO_NUMBER: Rejection = { rejected: 'Max-Forwards is not a plain number' };

/** How the paths of a route are translated for its service. */
export interface PathChange {
  /** How many segments are stripped from the front of each path: complete ones, as they matched. 0 for none. */
  readonly strippedSegments: number;
  /** These segments as the configuration spells them, such as `/api`; '' if there are none. */
  readonly strippedPrefix: string;
  /** What goes before the rest: canonical, without a trailing slash; '' for nothing. */
  readonly base: string;
}

/**
 * Returns the path sent to a service for a canonical path: without its first segments, after the base. The result is canonical as
 * well: a path is cut only at a slash, and a base is canonical and does not end with one.
 */
export function servicePath(path: string, { strippedSegments, base }: PathChange): string {
  const rest = strippedSegments === 0 ? path : pathWithoutFirst(path, strippedSegments);
  return base === '' ? rest : base + rest;
}

/** Whether a service gets every path unchanged. */
export function keepsPaths({ strippedSegments, base }: PathChange): boolean {
  return strippedSegments === 0 && base === '';
}

/**
 * Returns the path by which clients reach a path of the service; `null` if there is none. The inverse of `servicePath`, except
 * that the base alone becomes a path with a trailing slash.
 */
export function clientPath(path: string, { strippedPrefix, base }: PathChange): string | null {
  if (base !== '' && path !== base && !path.startsWith(`${base}/`)) return null;
  const written = strippedPrefix + path.slice(base.length);
  // Two slashes at the beginning would make it a URL of another host.
  return written.startsWith('//') ? null : written || '/';
}

/** Returns a path without its first segments; the root if none remain. */
export function pathWithoutFirst(path: string, count: number): string {
  const at = endOfSegments(path, count);
  return at === -1 ? '/' : path.slice(at);
}

/** Returns the first segments of a path, which a service does not get, as the client wrote them; '' for none. */
export function strippedFrom(path: string, { strippedSegments }: PathChange): string {
  const at = endOfSegments(path, strippedSegments);
  return at === -1 ? path : path.slice(0, at);
}

/** The index of the slash after this many segments; -1 if the path ends there. */
function endOfSegments(path: string, count: number): number {
  let at = 0;
  for (let left = count; left > 0 && at !== -1; left--) at = path.indexOf('/', at + 1);
  return at;
}
