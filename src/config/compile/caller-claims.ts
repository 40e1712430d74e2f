import type { CallerKind } from '../../auth/index.ts';
import type { AccessTokensConfig } from '../schema/index.ts';

/** The claims that identify a kind of callers, in the order of access_tokens. */
export interface CallerClaims {
  readonly kind: CallerKind;
  readonly claims: readonly string[];
}

/** Where limits are read without their gateway.yaml. */
export const DEFAULT_CLAIMS: readonly CallerClaims[] = [
  { kind: 'user', claims: ['azp', 'sub'] },
  { kind: 'bot', claims: ['azp'] },
];

/** Without access_tokens there are no callers but addresses. */
export function claimsOf(
  tokens: Pick<AccessTokensConfig, 'principal' | 'bots'> | undefined,
): readonly CallerClaims[] {
  if (tokens === undefined) return [];
  const bots = tokens.bots === null ? [] : [{ kind: 'bot', claims: tokens.bots.principal } as const];
  return [{ kind: 'user', claims: tokens.principal }, ...bots];
}

/** What a claim is called where limits.yaml lists callers. */
export function keyOfClaim(claim: string): string {
  if (claim === 'azp') return 'client';
  return claim === 'sub' ? 'subject' : claim;
}

/** The kinds of callers that an entry with these keys can mean. */
export function kindsWithKeys(classes: readonly CallerClaims[], keys: readonly string[]): CallerClaims[] {
  const given = new Set(keys);
  return classes.filter(
    ({ claims }) => claims.length === given.size && claims.every(claim => given.has(keyOfClaim(claim))),
  );
}
