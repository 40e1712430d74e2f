import { isUtf8 } from 'node:buffer';
import { type InvalidReason, jsonIn } from '../../../core/index.ts';
import { isAlgorithm, type SigningAlgorithm } from './algorithms.ts';

/** A token that is not valid now: 401 on routes that require one. */
export interface Invalid {
  readonly kind: 'invalid';
  readonly reason: InvalidReason;
  /** With the reason `claim`: the claim that is missing or of the wrong type. A name from our rules, never from the token. */
  readonly claim: string | null;
  /** The token's principal, for the log only, if its signature is valid; else `null`. */
  readonly principal: string | null;
}

const made = new Map<InvalidReason, Invalid>();

/** The refusal for this reason. One shared object per reason keeps floods cheap. */
export function invalid(reason: Exclude<InvalidReason, 'claim'>): Invalid {
  const known = made.get(reason);
  if (known !== undefined) return known;
  const refusal = Object.freeze({ kind: 'invalid', reason, claim: null, principal: null } as const);
  made.set(reason, refusal);
  return refusal;
}

/** The refusal for a claim that is missing or of the wrong type. */
export function lacking(claim: string): Invalid {
  return { kind: 'invalid', reason: 'claim', claim, principal: null };
}

/** A parsed token. Nothing in it can be trusted before its signature is checked. */
export interface Jwt {
  readonly kind: 'jwt';
  readonly algorithm: SigningAlgorithm;
  /** `kid`, or null. */
  readonly keyId: string | null;
  /** The thumbprint of the certificate of its key, `x5t#S256` or `x5t`; or null. */
  readonly thumbprint: string | null;
  /** The header's `typ`, or null. */
  readonly type: string | null;
  readonly header: JsonObject;
  readonly claims: JsonObject;
  /** The signed text: header and payload as received. */
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** The longest accepted `kid`. `readBearer` bounds the token as a whole. */
const MAX_KEY_ID_LENGTH = 256;

/** Members that name a key by its certificate (RFC 7515, 4.1.7 and 4.1.8; RFC 7517, 4.8 and 4.9). */
export const THUMBPRINTS = ['x5t#S256', 'x5t'] as const;

/**
 * Parses a compact JWS (RFC 7515, 7.1) strictly: every token has exactly one accepted spelling.
 *
 * Ignores the header parameters `jwk`, `jku`, `x5u` and `x5c`: a token must not choose the key to trust (RFC 8725, 3.10).
 */
export function parseJwt(token: string): Jwt | Invalid {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first === -1 || second === -1) return invalid('malformed');

  const header = decodeObject(token.slice(0, first));
  // With `enc` it is encrypted, whatever its `alg` (RFC 7516, 9).
  if (header === null || Object.hasOwn(header, 'enc')) return invalid('malformed');
  if (Object.hasOwn(header, 'crit')) return invalid('critical');
  const algorithm = member(header, 'alg');
  if (!isAlgorithm(algorithm)) return invalid(typeof algorithm === 'string' ? 'algorithm' : 'malformed');
  const keyId = optionalString(header, 'kid');
  const type = optionalString(header, 'typ');
  if (keyId === undefined || type === undefined) return invalid('malformed');
  if (keyId !== null && (keyId === '' || keyId.length > MAX_KEY_ID_LENGTH)) return invalid('malformed');
  const thumbprint =
    THUMBPRINTS.map(name => member(header, name)).find(each => typeof each === 'string') ?? null;

  const claims = decodeObject(token.slice(first + 1, second));
  // A dot is not base64url, so a fourth segment fails here.
  const signature = decodeBase64Url(token.slice(second + 1));
  if (claims === null || signature === null) return invalid('malformed');
  const signingInput = token.slice(0, second);
  return { kind: 'jwt', algorithm, keyId, thumbprint, type, header, claims, signingInput, signature };
}

/**
 * Whether this is an opaque token, which the provider alone can read: one of at most two parts, or encrypted (RFC 7516, 7.1).
 * Everything else counts as a JWT, even if `parseJwt` rejects it: a provider that reads it more leniently could take an ID or refresh
 * token for valid.
 */
export function isOpaque(token: string): boolean {
  const second = token.indexOf('.', token.indexOf('.') + 1);
  if (second === -1) return true;
  const parts = token.split('.', 6);
  const [header = '', , vector, text, tag] = parts;
  const isFull = parts.length === 5 && vector !== '' && text !== '' && tag !== '';
  return isFull && typeof member(decodeObject(header) ?? {}, 'enc') === 'string';
}

function decodeObject(segment: string): JsonObject | null {
  const bytes = decodeBase64Url(segment);
  return bytes === null ? null : parseJsonObject(bytes);
}

/**
 * Decodes strictly. Node's decoder tolerates foreign characters, padding, the other alphabet and stray bits in the last
 * character; encoding the result again reveals any of these.
 */
function decodeBase64Url(segment: string): Buffer | null {
  if (segment === '') return null;
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : null;
}

/** The member if it is a string; `null` if it is absent, `undefined` if it is of another type. */
function optionalString(header: JsonObject, name: string): string | null | undefined {
  const value = member(header, name);
  if (value === undefined) return null;
  return typeof value === 'string' ? value : undefined;
}

/** A JSON object from `JSON.parse`. Read its members with `member` only. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The JSON object in these bytes (UTF-8), or `null` if they contain something else. The last of duplicate members counts.
 * `JSON.parse` treats `__proto__` as an ordinary member, which is harmless as long as objects are not merged.
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  if (!isUtf8(bytes)) return null;
  const value = jsonIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  return isJsonObject(value) ? value : null;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads own members only: an operator may name a claim `constructor`. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** As `member`, but treats null as absent: some serializers write every member that they know. */
export function given(object: JsonObject, name: string): unknown {
  return member(object, name) ?? undefined;
}

/**
 * The claim that the configuration names: a member of the token, or a JSON Pointer into it if the name begins with "/" (RFC 6901).
 * Any other name is that of a member, even with dots or slashes in it.
 */
export function claimAt(claims: JsonObject, name: string): unknown {
  if (!name.startsWith('/')) return member(claims, name);
  let value: unknown = claims;
  for (const part of name.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = /^(?:0|[1-9]\d{0,8})$/.test(key) ? value[Number(key)] : undefined;
    else value = isJsonObject(value) ? member(value, key) : undefined;
  }
  return value;
}

/** Printable ASCII without the percent sign. */
const PLAIN = /^[\x21-\x24\x26-\x7e]*$/;

/**
 * Encodes text for a header field: the percent sign and everything outside 0x21-0x7e become `%XX` of their UTF-8 bytes.
 * Different texts stay different.
 */
export function percentEncode(text: string): string {
  if (PLAIN.test(text)) return text;
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const plain = byte >= 0x21 && byte <= 0x7e && byte !== 0x25;
    out += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

/**
 * Reads the value of an Authorization field (a scheme, blanks and one token: RFC 9110, 11.4) and returns the token.
 *
 * Does not check the token's characters: a known token is found by its hash, and all others are parsed by `parseJwt`, which is
 * stricter than `b64token` of RFC 6750.
 *
 * @param schemes the accepted scheme names, in lower case; clients may use any case
 * @param maxLength the longest accepted token, in characters
 */
export function readBearer(value: string, schemes: readonly string[], maxLength: number): string | Invalid {
  const blank = value.indexOf(' ');
  const scheme = blank === -1 ? value : value.slice(0, blank);
  if (!schemes.includes(scheme.toLowerCase())) return invalid('scheme');
  if (blank === -1) return invalid('credentials');
  let start = blank + 1;
  while (value.charCodeAt(start) === 0x20) start += 1;
  if (start === value.length) return invalid('credentials');
  return value.length - start > maxLength ? invalid('too_long') : value.slice(start);
}
