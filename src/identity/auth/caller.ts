import { hash } from 'node:crypto';
import type { ClassName, Fields, GatewayError } from '../../core/index.ts';
import type { AccessTokenOptions, ClassRule, IdentityHeader, Requirement } from './options.ts';
import { judgeRequirements, type Shortfall, shortfallIn } from './requirement.ts';
import type { Revocable } from './revocation-rules.ts';
import type { Invalid, JsonObject, VerificationKey } from './token/index.ts';
import {
  boundCertificate,
  boundKey,
  claimAt,
  dateClaim,
  isMarked,
  isScalar,
  lacking,
  member,
  percentEncode,
  tenantOf,
  textClaim,
} from './token/index.ts';

export type CallerKind = 'bot' | 'user';
/** What a principal begins with: `key` is a line of the file of API keys. */
export type PrincipalKind = CallerKind | 'key';

/** The sender of a request, according to a verified token. */
export interface Caller extends Revocable {
  readonly kind: CallerKind;
  /**
   * The class that decides its limits: the first one of gateway.yaml that it belongs to, else its kind. The principal does not
   * depend on it.
   */
  readonly class: ClassName;
  /**
   * The stable key of this bot or user: `bot:...`, `user:...` or `key:...`, ASCII, at most 256 characters. Refreshed tokens keep it;
   * two callers never share one.
   */
  readonly principal: string;
  /** The issuer of the token, as the configuration has it; '' for an API key. */
  readonly issuer: string;
  /** The token's own `iss`, if the provider has an issuer for each tenant; else `null`. */
  readonly tenant: string | null;
  /** The token is refused from this moment on: `exp` plus the leeway, since the epoch. */
  readonly expiresAtMs: number;
  /**
   * The key that verified the signature. Once it leaves the key set, the token is no longer accepted. `null` if it is not a JWT.
   */
  readonly key: VerificationKey | null;
  /** When the provider was asked about the token, on the monotonic clock; `null` unless it is opaque. */
  readonly askedAtMs: number | null;
  /** The thumbprint of the certificate that must accompany the token (RFC 8705); `null` if it is not bound to one. */
  readonly certificate: string | null;
  /** The thumbprint of the key whose proof must accompany the token (RFC 9449); `null` if it is not bound to one. */
  readonly proofKey: string | null;
  /** Fields for the upstream, ready to be sent: name, value, ... */
  readonly identityFields: Fields;
  /**
   * The claims of the token that the configuration names, as parsed JSON. Read them with `claimOf` only. `NO_CLAIMS` if there are
   * none.
   */
  readonly claims: JsonObject;
  /** What the token lacks for each requirement, in the form that `shortfallOf` reads. */
  readonly shortfalls: string;
  /** The version of the issuer's revocations that the token was last checked against; 0 if never. */
  passedVersion: number;
}

/** The claims of a caller whose token has none that the configuration names. */
export const NO_CLAIMS: JsonObject = Object.freeze({});

const MAX_PRINCIPAL_LENGTH = 256;

/** The caller behind a verified token, or the refusal when a claim that identifies it is missing. */
export function callerOf(
  claims: JsonObject,
  revocable: Revocable,
  options: AccessTokenOptions,
  key: VerificationKey | null,
  askedAtMs: number | null = null,
): Caller | Invalid {
  const expiresAtS = dateClaim(claims, 'exp');
  if (expiresAtS === null) return lacking('exp');
  const { kind, names } = identifyingClaims(claims, options);
  const parts: string[] = [];
  for (const name of names) {
    const part = textClaim(claims, name);
    if (part === null) return lacking(name);
    parts.push(part);
  }
  const principal = principalOf(kind, parts, options.isOneOfSeveral ? options.issuer : null);
  return {
    ...revocable,
    kind,
    class: planClassOf(claims, principal, options.classes) ?? kind,
    principal,
    issuer: options.issuer,
    tenant: tenantOf(claims, options.tenants),
    expiresAtMs: expiresAtS * 1_000 + options.leewayMs,
    key,
    askedAtMs,
    certificate: boundCertificate(claims),
    proofKey: boundKey(claims),
    identityFields: identityFields(claims, options.identityHeaders),
    claims: keptOf(claims, options.keptClaims),
    shortfalls: judgeRequirements(claims, options.requirements, options.roleClaims),
    passedVersion: 0,
  };
}

/** The refusal of a token that lacks a claim which identifies its caller; `null` if it lacks none. */
export function refuseNameless(claims: JsonObject, options: AccessTokenOptions): Invalid | null {
  const missing = identifyingClaims(claims, options).names.find(name => textClaim(claims, name) === null);
  return missing === undefined ? null : lacking(missing);
}

function identifyingClaims(
  claims: JsonObject,
  { bots, principal }: Pick<AccessTokenOptions, 'bots' | 'principal'>,
): { readonly kind: CallerKind; readonly names: readonly string[] } {
  return bots !== null && isMarked(claims, bots)
    ? { kind: 'bot', names: bots.principal }
    : { kind: 'user', names: principal };
}

/** What the caller's token lacks for a requirement of its configuration; `null` if nothing. */
export function shortfallOf({ shortfalls }: Caller, requirement: Requirement): Shortfall | null {
  return shortfallIn(shortfalls, requirement);
}

/** The value of a claim that the caller's token has, or `undefined`. Only claims of `keptClaims` are found. */
export function claimOf({ claims }: Pick<Caller, 'claims'>, name: string): unknown {
  return member(claims, name);
}

function keptOf(claims: JsonObject, names: readonly string[]): JsonObject {
  const kept = names
    .map(name => [name, claimAt(claims, name)] as const)
    .filter(([, value]) => value !== undefined);
  // `fromEntries` also creates own members for names such as `__proto__`.
  return kept.length === 0 ? NO_CLAIMS : Object.fromEntries(kept);
}

function planClassOf(claims: JsonObject, principal: string, classes: readonly ClassRule[]): string | null {
  const found = classes.find(
    ({ marked, callers }) => callers.has(principal) || (marked !== null && isMarked(claims, marked)),
  );
  return found === undefined ? null : found.name;
}

/**
 * The principal of a caller with these claim values, in the order of `principal` in the configuration. Encoded parts contain no
 * blanks, so the separators cannot be forged. `#` marks the hashed form.
 *
 * @param issuer the caller's issuer if there are several, because two issuers may use the same names; else `null`
 */
export function principalOf(
  kind: PrincipalKind,
  parts: readonly string[],
  issuer: string | null = null,
): string {
  const all = issuer === null ? parts : [issuer, ...parts];
  const principal = `${kind}:${all.map(percentEncode).join(' ')}`;
  if (principal.length <= MAX_PRINCIPAL_LENGTH) return principal;
  return `${kind}#${hash('sha256', principal, 'hex')}`;
}

/** Whether a key is a principal rather than an address. */
export function isPrincipal(key: string): boolean {
  return /^(?:bot|user|key)[:#]/.test(key);
}

/** Sends strings, numbers and booleans, and lists of them; omits objects, which have more than one spelling. */
export function identityFields(claims: JsonObject, headers: readonly IdentityHeader[]): string[] {
  const fields: string[] = [];
  for (const { name, claim } of headers) {
    const value = identityValueOf(claimAt(claims, claim));
    if (value !== null) fields.push(name, value);
  }
  return fields;
}

/** As `fieldValueOf`, but writes a list in one line, separated by commas; commas inside an element are encoded. */
function identityValueOf(claim: unknown): string | null {
  if (!Array.isArray(claim)) return fieldValueOf(claim);
  const elements = claim.map(fieldValueOf).filter(value => value !== null);
  return elements.length === 0 ? null : elements.map(value => value.replaceAll(',', '%2C')).join(',');
}

/** The value of a claim in a header field; `null` if it has none. */
export function fieldValueOf(claim: unknown): string | null {
  if (!isScalar(claim)) return null;
  const text = String(claim);
  // A lone surrogate has no UTF-8 form.
  return text.isWellFormed() ? percentEncode(text) : null;
}

/** The outcome of verifying a token; `kind` says which. */
export type Verdict = Caller | Invalid | Unavailable | Unanswered | Spent;

/** The token cannot be judged: the provider did not say whether it is valid. */
interface Unanswered {
  readonly kind: 'unanswered';
  readonly error: GatewayError;
}

/** The token cannot be judged: its key may be newer than the gateway's key set. The response is 503. */
export interface Unavailable {
  readonly kind: 'unavailable';
  /** When the key may be fetched again. */
  readonly retryAfterMs: number;
}

/** The address has spent its budget of failed verifications, and the token is not known: the response is a global 429. */
export interface Spent {
  readonly kind: 'spent';
  /** The time until the budget's window closes; above 0. */
  readonly retryAfterMs: number;
}
