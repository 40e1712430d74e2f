import { type AccessTokenOptions, BUDGET_LIMITS, CACHE_LIMITS, KEY_SET_LIMITS } from '../../auth/index.ts';
import type { IdentityModel } from '../model/index.ts';
import type { AccessTokensConfig, GatewayConfig, LimitsConfig } from '../schema/index.ts';
import type { ProviderConfigOptions } from './read/index.ts';

/** Compiles the part of a snapshot about the provider, sign-in and tokens. */
export function compileIdentity(
  { access_tokens: tokens, sign_in: endpoints }: GatewayConfig,
  { failed_verifications: failures }: LimitsConfig,
  { provider, signIn }: ProviderConfigOptions,
): IdentityModel {
  if (tokens === undefined)
    throw new Error('access_tokens was not checked: it is needed with identity_provider');
  return {
    provider,
    signIn: { ...signIn, signOutEnds: endpoints?.sign_out_ends ?? 'refresh_token' },
    accessTokens: accessTokenOptions(tokens, provider.issuer, signIn.clientId),
    schemes: tokens.schemes.map(word => word.toLowerCase()),
    keySet: {
      ...KEY_SET_LIMITS,
      refreshMs: tokens.key_set.refresh,
      cooldownMs: tokens.key_set.cooldown,
      fetchTimeoutMs: provider.timeoutMs,
    },
    cache: { ...CACHE_LIMITS, maxTokens: tokens.cache.tokens },
    notBeforeS: tokens.not_before,
    failedVerifications:
      failures === null ? null : { ...BUDGET_LIMITS, limit: failures.units, periodMs: failures.periodMs },
  };
}

function accessTokenOptions(
  tokens: AccessTokensConfig,
  issuer: string,
  clientId: string,
): AccessTokenOptions {
  const { bots } = tokens;
  return {
    issuer,
    audience: tokens.audience,
    clientId,
    principal: tokens.principal,
    bots: bots && { claim: bots.claim, value: bots.value ?? null, principal: bots.principal },
    identityHeaders: Object.entries(tokens.identity_headers).map(([name, claim]) => ({ name, claim })),
    leewayMs: tokens.leeway,
  };
}
