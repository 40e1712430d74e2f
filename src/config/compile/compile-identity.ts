import { type AccessTokenOptions, BUDGET_LIMITS, CACHE_LIMITS, KEY_SET_LIMITS } from '../../auth/index.ts';
import type { ClientOptions, IntrospectionOptions } from '../../signin/index.ts';
import type { IdentityModel, ProviderModel } from '../model/index.ts';
import {
  type AccessTokensConfig,
  accessTokensSchema,
  type GatewayConfig,
  type LimitsConfig,
} from '../schema/index.ts';
import type { ProviderConfigOptions } from './read/index.ts';
import { type TokenRules, tokenRulesIn } from './token-rules.ts';

/** Compiles the part of a snapshot about providers, sign-in and tokens. Null: no provider is configured. */
export function compileIdentity(
  config: GatewayConfig,
  { failed_verifications: failures }: LimitsConfig,
  providers: readonly ProviderConfigOptions[],
): IdentityModel | null {
  const rules = tokenRulesIn(config);
  if (rules.length !== providers.length) throw new Error('the providers were not checked');
  if (rules.length === 0) return null;
  const shared = sharedTokens(config);
  return {
    providers: rules.flatMap((each, index) => {
      const options = providers[index];
      return options === undefined ? [] : [compileProvider(options, each, config)];
    }),
    schemes: shared.schemes.map(word => word.toLowerCase()),
    failedVerifications:
      failures === null ? null : { ...BUDGET_LIMITS, limit: failures.units, periodMs: failures.periodMs },
  };
}

function compileProvider(
  { provider, client, maxInFlight, signIn, notices }: ProviderConfigOptions,
  rules: TokenRules,
  config: GatewayConfig,
): ProviderModel {
  const shared = sharedTokens(config);
  return {
    name: rules.name,
    label: rules.isOneOfSeveral ? rules.name : null,
    provider,
    client,
    introspection: client && introspectionOptions(client, maxInFlight, shared),
    signIn: signIn && { ...signIn, signOutEnds: config.sign_in?.sign_out_ends ?? 'refresh_token' },
    notices,
    accessTokens: accessTokenOptions(rules, shared, client?.clientId ?? null),
    keySet: {
      ...KEY_SET_LIMITS,
      refreshMs: shared.key_set.refresh,
      cooldownMs: shared.key_set.cooldown,
      fetchTimeoutMs: provider.timeoutMs,
    },
    cache: { ...CACHE_LIMITS, maxTokens: shared.cache.tokens },
    notBeforeS: rules.notBeforeS,
  };
}

/** Null: a public client, to which providers tell nothing about tokens (RFC 7662, 2.1). */
function introspectionOptions(
  client: ClientOptions,
  maxInFlight: number,
  { cache }: AccessTokensConfig,
): IntrospectionOptions | null {
  return client.clientAuthentication.kind === 'none'
    ? null
    : { ...client, maxInFlight, maxTokens: cache.tokens };
}

/** What holds for the tokens of every provider. */
function sharedTokens(config: GatewayConfig): AccessTokensConfig {
  return config.access_tokens ?? accessTokensSchema.parse({});
}

function accessTokenOptions(
  rules: TokenRules,
  shared: AccessTokensConfig,
  clientId: string | null,
): AccessTokenOptions {
  const { bots } = rules;
  return {
    issuer: rules.issuer,
    isOneOfSeveral: rules.isOneOfSeveral,
    audience: rules.audience,
    clientId,
    principal: rules.principal,
    bots: bots && { claim: bots.claim, value: bots.value ?? null, principal: bots.principal },
    identityHeaders: Object.entries(shared.identity_headers).map(([name, claim]) => ({ name, claim })),
    leewayMs: shared.leeway,
    maxLifetimeMs: shared.max_lifetime,
  };
}
