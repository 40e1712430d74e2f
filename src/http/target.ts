import type { Rejection } from '../http1/index.ts';

/** Where a request goes: the one form that is routed, limited, counted and sent upstream. */
export interface Target {
  /**
   * Begins with a slash; the same for all spellings that RFC 3986 (6.2.2) calls equivalent, letter case apart. Or `*`, of an
   * OPTIONS that is about no path.
   */
  readonly path: string;
  /** As it came, from the `?` on; empty when there is none. */
  readonly query: string;
  /** The path holds `;` or `%3B`, by which some backends cut parameters off a segment: not every route lets it pass. */
  readonly semicolon: boolean;
}

/**
 * The canonical form of a request target (RFC 9112, 3.2), or why it is refused. `host`: the value of the `Host` field;
 * `method`: matters where it is OPTIONS, which alone has the asterisk-form.
 *
 * Refused is whatever a backend could take for another path than the one that was routed: dot segments, empty segments,
 * slashes, backslashes and control characters that hide in escapes. Nothing is resolved or repaired, for a client that
 * means well has done so.
 */
export function parseTarget(target: string, host: string, method = ''): Target | Rejection {
  if (target.charCodeAt(0) === SLASH) return parseOriginForm(target);
  if (target === '*' && method === 'OPTIONS') return ASTERISK;
  const absolute = ABSOLUTE_FORM.exec(target);
  if (absolute === null) return REFUSED.form;
  const [, authority = '', rest = ''] = absolute;
  if (authority.toLowerCase() !== host.toLowerCase()) return REFUSED.authority;
  // RFC 9112, 3.2.4: what a client of a proxy writes for `*`, with neither a path nor a query.
  if (rest === '' && method === 'OPTIONS') return ASTERISK;
  return parseOriginForm(rest.startsWith('/') ? rest : `/${rest}`);
}

/** The authority that a target in absolute-form names; null: it has another form. */
export function authorityOf(target: string): string | null {
  return ABSOLUTE_FORM.exec(target)?.[1] ?? null;
}

/**
 * The characters that a path segment stands for: percent-decoded UTF-8, so that no two spellings of one value differ. Null
 * when the bytes are not UTF-8.
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

const REFUSED = {
  form: { refused: 'the request target is neither a path nor an http URL' },
  authority: { refused: 'the request target names another host than the Host header' },
  dotSegment: { refused: 'the path has a "." or ".." segment: send the path that it leads to' },
  emptySegment: { refused: 'the path has an empty segment: send single slashes' },
  escape: {
    refused: 'the path has a "%" that is no escape, or the escape of a slash, backslash or control character',
  },
  character: {
    refused: 'the request target has a backslash, a "#", a space, a control character or one outside ASCII',
  },
} as const satisfies Record<string, Rejection>;

function parseOriginForm(target: string): Target | Rejection {
  const question = target.indexOf('?');
  const sent = question === -1 ? target : target.slice(0, question);
  const query = question === -1 ? '' : target.slice(question);
  if (!isPlainQuery(query)) return REFUSED.character;
  const path = sent.includes('%') ? canonicalEscapes(sent) : sent;
  return path === null || OVERLONG.test(path) ? REFUSED.escape : judgePath(path, query);
}

/** Looks at every character of a path with canonical escapes, once. */
function judgePath(path: string, query: string): Target | Rejection {
  let semicolon = false;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (ORDINARY[code] === 1) continue;
    if (code === SLASH) {
      const next = path.charCodeAt(i + 1);
      if (next === SLASH) return REFUSED.emptySegment;
      if (next === DOT && isDotSegment(path, i + 1)) return REFUSED.dotSegment;
    } else if (code === SEMICOLON || (code === PERCENT && path.startsWith('3B', i + 1))) semicolon = true;
    else if (code !== PERCENT) return REFUSED.character;
  }
  return { path, query, semicolon };
}

/** Whether `.` or `..` begins at `start` and ends there, or where some backends cut a parameter off (`..;x`). */
function isDotSegment(path: string, start: number): boolean {
  const end = path.charCodeAt(start + 1) === DOT ? start + 2 : start + 1;
  const code = path.charCodeAt(end);
  return end === path.length || code === SLASH || code === SEMICOLON || path.startsWith('%3B', end);
}

function isPlainQuery(query: string): boolean {
  for (let i = 0; i < query.length; i++) if (IN_QUERY[query.charCodeAt(i)] !== 1) return false;
  return true;
}

/**
 * Each escape in its canonical spelling (RFC 3986, 6.2.2): decoded where it need not be one, else in upper case. Null where
 * one is refused.
 */
function canonicalEscapes(path: string): string | null {
  let canonical = '';
  let done = 0;
  for (let at = path.indexOf('%'); at !== -1; at = path.indexOf('%', done)) {
    const byte = (hexDigit(path.charCodeAt(at + 1)) << 4) | hexDigit(path.charCodeAt(at + 2));
    const spelling = SPELLING[byte];
    if (spelling === undefined || spelling === '') return null;
    canonical += path.slice(done, at) + spelling;
    done = at + 3;
  }
  return canonical + path.slice(done);
}

/**
 * Canonical escapes of a character in more bytes of UTF-8 than it needs, which RFC 3629 (3) forbids to decode: careless
 * decoders make `/` of `%C0%AF` and `.` of `%C0%AE`. Other bytes that are not UTF-8 pass as they are, and no literal of a
 * route is made of them.
 */
const OVERLONG = /%(?:C[01]%[89AB]|E0%[89]|F0%8)/;

/** -1 for what is none. */
function hexDigit(code: number): number {
  return HEX_DIGIT[code] ?? -1;
}

// Tables by character code; what lies beyond them (outside Latin-1) is undefined and so never accepted.
const CODES = Array.from({ length: 256 }, (_, code) => code);
const isControl = (code: number) => code < 0x20 || code === 0x7f;
const isPrintable = (code: number) => code > 0x20 && code < 0x7f;

/** In a query: what is printable, but no fragment. */
const IN_QUERY = Uint8Array.from(CODES, code => (isPrintable(code) && code !== 0x23 ? 1 : 0));

/** In a path: the same, without the backslash and what needs a second look. */
const ORDINARY = Uint8Array.from(CODES, code =>
  isPrintable(code) && !'#?\\/;%'.includes(String.fromCharCode(code)) ? 1 : 0,
);

const HEX_DIGIT = Int8Array.from(CODES, code =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase()),
);

/**
 * How the escape of a byte is spelt in the canonical form; empty where it is refused. Control characters are, all of them:
 * no path means one, and a backend that decodes and then logs or copies the path would be handed a line break.
 */
const SPELLING = CODES.map(code => {
  const character = String.fromCharCode(code);
  if (isControl(code) || character === '/' || character === '\\') return '';
  if (/[A-Za-z0-9\-._~]/.test(character)) return character;
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
});
