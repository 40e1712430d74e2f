import { z } from 'zod';
import {
  type AccessTokenOptions,
  BUDGET_LIMITS,
  CACHE_LIMITS,
  type ClassRule,
  type IdentityHeader,
  KEY_SET_LIMITS,
} from '../../identity/auth/index.ts';
import type { ClientOptions, IntrospectionOptions, SignInOptions } from '../../identity/signin/index.ts';
import { asList, asMap } from '../file/index.ts';
import { namedClaims, principalsOf } from '../limits/index.ts';
import type { IdentityModel, ProviderModel } from '../model/index.ts';
import type { PolicyConfig } from '../policies/index.ts';
import { doorAsWhole, marked } from '../values/index.ts';
import { type AccessTokensConfig, accessTokensSchema, type tokenRules } from './access-tokens.ts';
import { apiKeyKeys, checkApiKeys } from './api-keys.ts';
import { claimsByKind, withTenants } from './callers.ts';
import { proofOptions } from './dpop.ts';
import { CAP_COSTS, fillIn } from './memory.ts';
import { noticeRoutes } from './own-routes.ts';
import { identityProviderSchema, providerEntrySchema } from './provider-keys.ts';
import { type ProviderConfigOptions, providerWithoutSecrets, readProviders } from './read-provider.ts';
import { routes } from './routes.ts';
import { type SettingContext, setting } from './setting.ts';
import { signInKeys, signInRoutes } from './sign-in.ts';

/** Maximum providers: each is a metrics label value, and keys are fetched from each. */
const MAX_PROVIDERS = 20;

const keys = {
  identity_provider: doorAsWhole(identityProviderSchema)
    .optional()
    .describe(
      'The OpenID Connect provider that issues tokens and signs users in. Without it, every route must say "authentication: none".',
    ),
  access_tokens: doorAsWhole(accessTokensSchema)
    .optional()
    .describe(
      'Which access tokens are accepted, and how they identify callers. Required with identity_provider.',
    ),
  identity_providers: marked(
    doorAsWhole(
      z
        .array(doorAsWhole(providerEntrySchema), {
          error: 'expected a list of providers, each of which begins with "- name:"',
        })
        .min(1, { error: 'an empty list has no provider: leave it out' })
        .max(MAX_PROVIDERS, { error: `at most ${MAX_PROVIDERS} providers are possible` }),
    )
      .optional()
      .describe(
        'Instead of identity_provider: several providers, each with its name, its audience and the callers it identifies. The same keys as identity_provider otherwise.',
      ),
    { entriesBy: 'name' },
  ),
  ...apiKeyKeys,
  ...signInKeys,
};

type IdentityConfig = PolicyConfig<typeof keys>;

/**
 * `identity_provider` with `access_tokens`, or `identity_providers`, with `api_keys` and `sign_in`: who callers are, and where they
 * sign in. check/identity-checks.ts checks how they fit together and to the routes.
 */
export const identity = setting({
  keys,
  fill({ access_tokens, identity_providers: several }, { part }) {
    // Each provider has its own tables of tokens, one of them another for opaque ones.
    const entries = [access_tokens, ...asList(several)].map(asMap);
    const hasOpaque = entries.some(({ opaque_tokens: opaque = 'off' }) => opaque !== 'off');
    const tables = Math.max(1, asList(several).length) + (hasOpaque ? 1 : 0);
    fillIn(access_tokens, { cache: {} });
    fillIn(asMap(access_tokens).cache, { tokens: part(CAP_COSTS.tokens.most, tables) });
  },
  check: checkApiKeys,
  read: async (file, clock) => ({ providers: await readProviders(file, clock) }),
  withoutSecrets: ({ identity_provider: one, identity_providers: several = [] }) => ({
    providers: [...(one === undefined ? [] : [one]), ...several].map(providerWithoutSecrets),
  }),
  compile: (config, context, { providers }) => ({
    /** `null` without an identity provider; then every route has `authentication: none`. */
    identity: compileIdentity(config, context, providers),
  }),
  ownRoutes: ({ sign_in }, _, { providers }) => [
    ...signInRoutes(sign_in),
    ...noticeRoutes(providers.map(({ notices }) => notices)),
  ],
});

/** Compiles providers, sign-in, tokens and API keys; `null` if neither a provider nor keys are configured. */
function compileIdentity(
  config: IdentityConfig,
  { limits, apiKeys: lines, requirements: { all: requirements }, written: writtenAt }: SettingContext,
  providers: readonly ProviderConfigOptions[],
): IdentityModel | null {
  const written = writtenRules(config);
  const { api_keys: keys } = config;
  if (written.length !== providers.length) throw new Error('the providers were not checked');
  if (written.length === 0 && keys === undefined) return null;
  const shared = config.access_tokens ?? accessTokensSchema.parse({});
  const { failed_verifications: failures } = limits;
  const common = { keptClaims: namedClaims(writtenAt(routes), limits), requirements };
  const signOutEnds = config.sign_in?.sign_out_ends ?? 'refresh_token';
  return {
    providers: providers.flatMap((options, index) => {
      const rules = written[index];
      return rules === undefined ? [] : [compileProvider(options, rules, shared, common, signOutEnds)];
    }),
    apiKeys: keys === undefined ? null : { ...keys, lines, requirements, identityHeaders: headersIn(shared) },
    schemes: [...shared.schemes, ...(shared.dpop === null ? [] : ['DPoP'])].map(word => word.toLowerCase()),
    maxTokenLength: shared.max_length,
    certificateField: shared.certificate_field ?? null,
    dpop: proofOptions(shared),
    failedVerifications:
      failures === null ? null : { ...BUDGET_LIMITS, limit: failures.units, periodMs: failures.periodMs },
  };
}

/** A provider's name and issuer, and the rules for its tokens, as written. */
interface WrittenRules {
  /** `null` for `identity_provider`, which has none. */
  readonly name: string | null;
  readonly issuer: string;
  readonly isOneOfSeveral: boolean;
  readonly rules: Pick<AccessTokensConfig, keyof typeof tokenRules>;
}

/** The rules of each provider, in the order of the file: from `access_tokens`, or from the entries of `identity_providers`. */
function writtenRules(config: IdentityConfig): readonly WrittenRules[] {
  const { identity_provider: one, identity_providers: several = [], access_tokens: tokens } = config;
  const isOneOfSeveral = several.length > 1;
  if (one === undefined)
    return several.map(rules => ({ name: rules.name, issuer: rules.issuer, isOneOfSeveral, rules }));
  if (tokens === undefined) throw new Error('access_tokens was not checked: identity_provider needs it');
  return [{ name: null, issuer: one.issuer, isOneOfSeveral: false, rules: tokens }];
}

function compileProvider(
  { provider, client, maxInFlight, signIn, notices }: ProviderConfigOptions,
  { name, issuer, isOneOfSeveral, rules: written }: WrittenRules,
  shared: AccessTokensConfig,
  common: Pick<AccessTokenOptions, 'keptClaims' | 'requirements'>,
  signOutEnds: SignInOptions['signOutEnds'],
): ProviderModel {
  const rules = withTenants(written, issuer);
  const { audience, token_kind: kind, bots } = rules;
  if (audience === undefined) throw new Error('audience was not checked');
  const claims = claimsByKind(rules, { provider: name, issuer: isOneOfSeveral ? issuer : null });
  const classes = Object.entries(rules.classes).map(
    ([name, { claim, value, callers = [] }]): ClassRule => ({
      name,
      marked: claim === undefined ? null : { claim, value: value ?? null },
      callers: new Set(callers.flatMap(caller => principalsOf(caller, claims))),
    }),
  );
  return {
    name,
    label: isOneOfSeveral ? name : null,
    provider,
    client,
    introspection: client && introspectionOptions(client, maxInFlight, shared),
    signIn: signIn && { ...signIn, signOutEnds },
    notices,
    opaqueTokens: rules.opaque_tokens,
    accessTokens: {
      ...common,
      issuer,
      isOneOfSeveral,
      audience,
      classes,
      principal: rules.principal,
      tenants: provider.tenants,
      clientId: client?.clientId ?? null,
      audienceClaim: rules.audience_claim,
      tokenKind: typeof kind === 'string' ? kind : { claim: kind.claim, value: kind.value ?? null },
      bots: bots && { claim: bots.claim, value: bots.value ?? null, principal: bots.principal },
      identityHeaders: headersIn(shared),
      roleClaims: shared.roles,
      dpop: shared.dpop?.mode ?? 'off',
      leewayMs: shared.leeway,
      maxLifetimeMs: shared.max_lifetime,
    },
    keySet: {
      ...KEY_SET_LIMITS,
      refreshMs: shared.key_set.refresh,
      cooldownMs: shared.key_set.cooldown,
      fetchTimeoutMs: provider.timeoutMs,
    },
    cache: { ...CACHE_LIMITS, maxTokens: shared.cache.tokens },
    notBeforeS: rules.not_before,
  };
}

/** Returns `null` for a public client: providers do not answer its questions about tokens (RFC 7662, 2.1). */
function introspectionOptions(
  client: ClientOptions,
  maxInFlight: number,
  { cache }: AccessTokensConfig,
): IntrospectionOptions | null {
  return client.clientAuthentication.kind === 'none'
    ? null
    : { ...client, maxInFlight, maxTokens: cache.tokens };
}

function headersIn({ identity_headers: headers }: AccessTokensConfig): readonly IdentityHeader[] {
  return Object.entries(headers).map(([name, claim]) => ({ name, claim }));
}
