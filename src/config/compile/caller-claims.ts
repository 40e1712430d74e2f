import type { CallerKind } from '../../auth/index.ts';
import type { AccessTokensConfig } from '../schema/index.ts';

/** The claims that identify a kind of callers, in the order of the configuration. */
export interface CallerClaims {
  readonly kind: CallerKind;
  readonly claims: readonly string[];
  /** The name of the provider whose tokens these are; null: it has none. */
  readonly provider: string | null;
  /** The issuer, where it is a part of principals: there are several. Null: it is not. */
  readonly issuer: string | null;
}

/** Where limits are read without their gateway.yaml. */
export const DEFAULT_CLAIMS: readonly CallerClaims[] = [
  { kind: 'user', claims: ['azp', 'sub'], provider: null, issuer: null },
  { kind: 'bot', claims: ['azp'], provider: null, issuer: null },
];

/** What callers are identified by, in a configuration. */
export interface CallersConfig {
  readonly access_tokens?: Rules | undefined;
  readonly identity_providers?:
    | readonly (Rules & { readonly name: string; readonly issuer: string })[]
    | undefined;
}

type Rules = Pick<AccessTokensConfig, 'principal' | 'bots'>;

/** Without a provider there are no callers but addresses. */
export function claimsOf({
  access_tokens: tokens,
  identity_providers: several = [],
}: CallersConfig): readonly CallerClaims[] {
  if (several.length > 0)
    return several.flatMap(entry =>
      classesOf(entry, { provider: entry.name, issuer: several.length > 1 ? entry.issuer : null }),
    );
  return tokens === undefined ? [] : classesOf(tokens, { provider: null, issuer: null });
}

function classesOf(
  { principal, bots }: Rules,
  of: Pick<CallerClaims, 'provider' | 'issuer'>,
): readonly CallerClaims[] {
  const users: CallerClaims = { kind: 'user', claims: principal, ...of };
  return bots === null ? [users] : [users, { kind: 'bot', claims: bots.principal, ...of }];
}

/** What a claim is called where limits.yaml lists callers. */
export function keyOfClaim(claim: string): string {
  if (claim === 'azp') return 'client';
  return claim === 'sub' ? 'subject' : claim;
}

/** An entry of limits.yaml that lists a caller. */
export interface ListedCaller {
  /** By their keys, `client` for the claim azp. */
  readonly claims: ReadonlyMap<string, unknown>;
  /** Null: the entry names none, so it means callers of every provider. */
  readonly provider: unknown;
}

/** Reads an entry. Where providers have no names, `provider` is a claim like any other. */
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

/** The kinds of callers that an entry can mean. */
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
