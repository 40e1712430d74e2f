import { type Fields, firstValue } from '../core/index.ts';

/** Which origins may use the gateway from a browser, and how. https://fetch.spec.whatwg.org/#http-cors-protocol */
export interface CorsRules {
  /** Origins as browsers write them; null: any. */
  readonly origins: ReadonlySet<string> | null;
  /** Request fields that may be sent beside the simple ones; null: those that the preflight asks for. */
  readonly allowHeaders: readonly string[] | null;
  readonly credentials: boolean;
  readonly maxAgeS: number;
}

/** What scripts may read of a response beside the simple fields: all that the gateway says about limits, and its request id. */
const EXPOSED = [
  ...[
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'X-RateLimit-Reset-After',
    'X-RateLimit-Bucket',
  ],
  ...['X-RateLimit-Scope', 'X-RateLimit-Global', 'Retry-After', 'X-Request-Id', 'Via', 'Date'],
].join(', ');

const NOTHING: Fields = [];
/** Caches must not give the response for one origin to another. */
const VARY: Fields = ['Vary', 'Origin'];

/** Names of fields (RFC 9110, 5.6.2: tokens), with commas and blanks between them. What is echoed holds nothing else. */
const FIELD_NAMES = /^[\w!#$%&'*+.^`|~, \t-]*$/;

/** The fields that let a script of this origin read a response. Without an origin, or with one that may not, there are none but `Vary`. */
export function corsFields(rules: CorsRules, origin: string | undefined): Fields {
  const vary = rules.origins === null && !rules.credentials ? NOTHING : VARY;
  if (origin === undefined || !mayUse(rules, origin)) return vary;
  return [...originFields(rules, origin), 'Access-Control-Expose-Headers', EXPOSED, ...vary];
}

/**
 * The method that a browser would send if it may, where an OPTIONS with these fields is a preflight: one that names its
 * origin as well. Null for any other request. https://fetch.spec.whatwg.org/#cors-preflight-request
 */
export function askedMethod(fields: Fields): string | null {
  const origin = firstValue(fields, 'origin') ?? '';
  const method = firstValue(fields, 'access-control-request-method') ?? '';
  return origin === '' || method === '' ? null : method;
}

/**
 * The response's fields to a preflight that asks for this method; null: one that is not served. None of them says yes to that,
 * to an origin that may not use the gateway, or to fields whose names are none.
 */
export function preflightFields(rules: CorsRules, fields: Fields, method: string | null): Fields {
  const origin = firstValue(fields, 'origin') ?? '';
  const vary = ['Vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'];
  const asked = firstValue(fields, 'access-control-request-headers') ?? '';
  if (method === null || !mayUse(rules, origin) || !FIELD_NAMES.test(asked)) return vary;
  const allowed = rules.allowHeaders?.join(', ') ?? asked;
  return [
    ...originFields(rules, origin),
    'Access-Control-Allow-Methods',
    method,
    ...(allowed === '' ? [] : ['Access-Control-Allow-Headers', allowed]),
    'Access-Control-Max-Age',
    String(rules.maxAgeS),
    ...vary,
  ];
}

function mayUse({ origins }: CorsRules, origin: string): boolean {
  return origins === null || origins.has(origin);
}

/** With credentials the wildcard is not allowed, so the origin itself is named. */
function originFields({ origins, credentials }: CorsRules, origin: string): string[] {
  const named = origins === null && !credentials ? '*' : origin;
  return [
    'Access-Control-Allow-Origin',
    named,
    ...(credentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
  ];
}
