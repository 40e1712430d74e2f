import { type PrincipalKind, principalOf } from '../../identity/auth/index.ts';

/** The claims that identify a kind of callers, in the order of the configuration. */
export interface CallerClaims {
  readonly kind: PrincipalKind;
  readonly claims: readonly string[];
  /** The name of the provider of these tokens; `null` if it has none. */
  readonly provider: string | null;
  /** The issuer if there are several, since it is then part of principals; else `null`. */
  readonly issuer: string | null;
}

/** The claims to assume where limits are read without their gateway.yaml. */
export const DEFAULT_CLAIMS: readonly CallerClaims[] = [
  { kind: 'user', claims: ['azp', 'sub'], provider: null, issuer: null },
  { kind: 'bot', claims: ['azp'], provider: null, issuer: null },
];

/** API keys, which lists of callers know by their names: `{ key: partner-7 }`. */
export const KEY_CALLERS: CallerClaims = { kind: 'key', claims: ['key'], provider: null, issuer: null };

/** Returns the key of a claim in lists of callers in limits.yaml. */
export function keyOfClaim(claim: string): string {
  if (claim === 'azp') return 'client';
  return claim === 'sub' ? 'subject' : claim;
}

interface ListedCaller {
  /** The claims by their keys, which is `client` for azp. */
  readonly claims: ReadonlyMap<string, unknown>;
  /** The provider; `null` if the entry names none and so refers to callers of every provider. */
  readonly provider: unknown;
}

/** Reads a caller listed by its claims. If providers have no names, `provider` is a claim like any other. */
export function listedCaller(
  entry: Readonly<Record<string, unknown>>,
  classes: readonly CallerClaims[],
): ListedCaller {
  const claims = new Map(Object.entries(entry));
  if (!classes.some(({ provider }) => provider !== null)) return { claims, provider: null };
  const provider = claims.get('provider') ?? null;
  claims.delete('provider');
  return { claims, provider };
}

export function kindsOf(
  { claims: given, provider }: ListedCaller,
  classes: readonly CallerClaims[],
): CallerClaims[] {
  return classes.filter(
    ({ claims, provider: own }) =>
      (provider === null || provider === own) &&
      claims.length === given.size &&
      claims.every(claim => given.has(keyOfClaim(claim))),
  );
}

/** The principals that an entry refers to: several where bots and users, or users of several providers, have its claims. */
export function principalsOf(
  entry: Readonly<Record<string, string>>,
  classes: readonly CallerClaims[],
): string[] {
  return kindsOf(listedCaller(entry, classes), classes).map(({ kind, claims, issuer }) =>
    principalOf(
      kind,
      claims.map(claim => entry[keyOfClaim(claim)] ?? ''),
      issuer,
    ),
  );
}
