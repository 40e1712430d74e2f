import type { ProofReason } from '../../../core/index.ts';
import { canonicalHost, pathAsSent, readHost } from '../../../wire/http/index.ts';
import type { JsonObject, Jwt, SigningAlgorithm } from '../token/index.ts';
import { algorithmsFor, dateClaim, isJsonObject, member, parseJwt } from '../token/index.ts';
import { thumbprintOf } from './proof-keys.ts';

/** The accepted algorithms of proofs, as challenges list them. */
export const PROOF_ALGORITHMS: readonly SigningAlgorithm[] = [
  ...(['ES256', 'ES384', 'EdDSA', 'Ed25519'] as const),
  ...(['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'] as const),
];

/** Maximum length of a proof: twice that of one with a 4,096-bit RSA key. */
const MAX_LENGTH = 4_096;
const MAX_ID_LENGTH = 256;

/** The request that a proof has to be made for (RFC 9449, 4.3). */
export interface ProvenRequest {
  readonly method: string;
  /** The URL as the client knows it. `host`: with its port; `path`: see `pathAsSent`; it has no query. */
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly path: string;
  /** The SHA-256 of the token, base64url: what its `ath` must be. */
  readonly tokenHash: string;
  /** The thumbprint of the token's key (`cnf.jkt`). */
  readonly key: string;
}

/** A proof that names the request. Its time, nonce and signature, and that it was not used before, remain to be checked. */
export interface Proof {
  readonly jwt: Jwt;
  readonly jwk: JsonObject;
  /** `jti`. */
  readonly id: string;
  readonly issuedAtMs: number;
  /** `null` if it has no nonce. */
  readonly nonce: string | null;
}

/** Reads a proof, or finds what is wrong with it. Needs no key: the token's key is found by its thumbprint. */
export function readProof(text: string, request: ProvenRequest): Proof | ProofReason {
  if (text === '' || text.length > MAX_LENGTH) return 'proof_malformed';
  const jwt = parseJwt(text);
  if (jwt.kind === 'invalid') return jwt.reason === 'algorithm' ? 'proof_algorithm' : 'proof_malformed';
  const jwk = member(jwt.header, 'jwk');
  if (jwt.type?.toLowerCase() !== 'dpop+jwt' || !isJsonObject(jwk) || isPrivate(jwk))
    return 'proof_malformed';
  const fits = algorithmsFor(member(jwk, 'kty'), member(jwk, 'crv')).includes(jwt.algorithm);
  if (!PROOF_ALGORITHMS.includes(jwt.algorithm) || !fits) return 'proof_algorithm';
  if (thumbprintOf(jwk) !== request.key) return 'proof_key';
  return readClaims(jwt, jwk, request);
}

function readClaims(jwt: Jwt, jwk: JsonObject, request: ProvenRequest): Proof | ProofReason {
  const { claims } = jwt;
  const [id, url, nonce] = ['jti', 'htu', 'nonce'].map(name => member(claims, name));
  const issuedAtS = dateClaim(claims, 'iat');
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) return 'proof_malformed';
  if (typeof url !== 'string' || issuedAtS === null) return 'proof_malformed';
  if (member(claims, 'htm') !== request.method || !leadsTo(url, request)) return 'proof_target';
  if (member(claims, 'ath') !== request.tokenHash) return 'proof_token';
  return { jwt, jwk, id, issuedAtMs: issuedAtS * 1_000, nonce: typeof nonce === 'string' ? nonce : null };
}

/** The members that only private and symmetric keys have (RFC 7518, 6). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

function isPrivate(jwk: JsonObject): boolean {
  return PRIVATE_MEMBERS.some(name => Object.hasOwn(jwk, name));
}

const DEFAULT_PORT = { http: ':80', https: ':443' } as const;

/**
 * Whether a URL is that of the request, after the same normalisation as for routes (RFC 3986, 6.2.2 and 6.2.3). Ignores query and
 * fragment (RFC 9449, 4.3).
 */
function leadsTo(url: string, request: ProvenRequest): boolean {
  const [, scheme = '', authority = '', path = ''] =
    /^(https?):\/\/([^/?#]+)([^?#]*)(?:[?#].*)?$/is.exec(url) ?? [];
  if (scheme.toLowerCase() !== request.scheme) return false;
  if (pathAsSent(path === '' ? '/' : path, authority) !== request.path) return false;
  const host = spelled(authority, request.scheme);
  return host !== null && host === spelled(request.host, request.scheme);
}

/** A host in one spelling, without the scheme's default port; `null` if the text is not a host. */
function spelled(written: string, scheme: ProvenRequest['scheme']): string | null {
  const host = readHost(written);
  if (host === null) return null;
  const canonical = canonicalHost(written.toLowerCase(), host);
  return canonical.endsWith(DEFAULT_PORT[scheme]) ? host : canonical;
}
