import { type CallerClaims, KEY_CALLERS } from '../limits/index.ts';
import { withTenant } from './tenants.ts';

interface CallersConfig {
  readonly identity_provider?: { readonly issuer: string } | undefined;
  readonly access_tokens?: ClaimRules | undefined;
  readonly identity_providers?:
    | readonly (ClaimRules & { readonly name: string; readonly issuer: string })[]
    | undefined;
  readonly api_keys?: object | undefined;
}

/** Which claims identify users, and which bots; `null` if no caller is a bot. */
interface ClaimRules {
  readonly principal: readonly string[];
  readonly bots: { readonly principal: readonly string[] } | null;
}

/** Without a provider and API keys, all callers are addresses. */
export function claimsOf({
  identity_provider: one,
  access_tokens: tokens,
  identity_providers: several = [],
  api_keys: keys,
}: CallersConfig): readonly CallerClaims[] {
  const ofKeys = keys === undefined ? [] : [KEY_CALLERS];
  const ofProviders = several.flatMap(entry =>
    claimsByKind(withTenants(entry, entry.issuer), {
      provider: entry.name,
      issuer: several.length > 1 ? entry.issuer : null,
    }),
  );
  if (several.length > 0 || tokens === undefined) return [...ofProviders, ...ofKeys];
  const own = withTenants(tokens, one?.issuer);
  return [...claimsByKind(own, { provider: null, issuer: null }), ...ofKeys];
}

/** The rules by which a caller belongs to a tenant, if the issuer has a placeholder. */
export function withTenants<R extends ClaimRules>(rules: R, issuer: unknown): R {
  const { principal, bots } = rules;
  return {
    ...rules,
    principal: withTenant(principal, issuer),
    bots: bots && { ...bots, principal: withTenant(bots.principal, issuer) },
  };
}

export function claimsByKind(
  { principal, bots }: ClaimRules,
  of: Pick<CallerClaims, 'provider' | 'issuer'>,
): readonly CallerClaims[] {
  const users: CallerClaims = { kind: 'user', claims: principal, ...of };
  return bots === null ? [users] : [users, { kind: 'bot', claims: bots.principal, ...of }];
}
