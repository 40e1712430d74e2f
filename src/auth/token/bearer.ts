import { type Invalid, invalid } from './invalid.ts';

/** Tokens are at most so long: the header section that carries them is capped at about the same. */
const MAX_TOKEN_LENGTH = 16_384;

/**
 * Reads the value of an Authorization field: a scheme, blanks and one token (RFC 9110 section 11.4), which is returned.
 *
 * The characters of the token are not looked at here: a token that was verified before is found by its hash, and any other
 * meets the strict reading of `parseJwt`, which takes fewer characters than `b64token` of RFC 6750 has.
 *
 * @param schemes the words that stand for a bearer token, in lower case; the one sent may be in any case
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
