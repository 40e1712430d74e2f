import { type Invalid, invalid } from './invalid.ts';

/** The header section that carries a token is capped at about the same length. */
const MAX_TOKEN_LENGTH = 16_384;

/**
 * Reads the value of an Authorization field (a scheme, blanks and one token: RFC 9110, 11.4) and returns the token.
 *
 * Does not check the token's characters: a known token is found by its hash, and every other one is parsed by `parseJwt`,
 * which is stricter than `b64token` of RFC 6750.
 *
 * @param schemes the accepted scheme names, in lower case; clients may use any case
 */
export function readBearer(value: string, schemes: readonly string[]): string | Invalid {
  const blank = value.indexOf(' ');
  const scheme = blank === -1 ? value : value.slice(0, blank);
  if (!schemes.includes(scheme.toLowerCase())) return invalid('scheme');
  if (blank === -1) return invalid('credentials');
  let start = blank + 1;
  while (value.charCodeAt(start) === 0x20) start += 1;
  if (start === value.length) return invalid('credentials');
  return value.length - start > MAX_TOKEN_LENGTH ? invalid('length') : value.slice(start);
}
