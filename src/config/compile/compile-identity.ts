import type { Tenants } from '../../core/index.ts';
import type {
  AccessTokenOptions,
  ApiKeyLine,
  ClassRule,
  IdentityHeader,
  PrincipalKind,
} from '../../identity/auth/index.ts';
import { BUDGET_LIMITS, CACHE_LIMITS, KEY_SET_LIMITS, principalOf } from '../../identity/auth/index.ts';
import type { ClientOptions, IntrospectionOptions } from '../../identity/signin/index.ts';
import type { IdentityModel, ProviderModel } from '../model/index.ts';
import type { Requirements } from '../policies/index.ts';
import type { LimitsConfig } from '../schema/index.ts';
import {
  type AccessTokensConfig,
  accessTokensSchema,
  type GatewayConfig,
  type ProviderConfigOptions,
  proofOptions,
  withTenant,
} from '../settings/index.ts';
import { namedClaims } from './named-claims.ts';

/** Who may call, from other files. */
interface CallerSources {
  readonly providers: readonly ProviderConfigOptions[];
  readonly apiKeys: readonly ApiKeyLine[];
}

/**
 * Compiles the part of a snapshot for providers, sign-in, tokens and API keys. Returns `null` if neither a provider nor keys are
 * configured.
 */
export function compileIdentity(
  config: GatewayConfig,
  limits: LimitsConfig,
  { providers, apiKeys: lines }: CallerSources,
  { all: requirements }: Requirements,
): IdentityModel | null {
  const rules = tokenRulesIn(config);
  const { api_keys: keys } = config;
  if (rules.length !== providers.length) throw new Error('the providers were not checked');
  if (rules.length === 0 && keys === undefined) return null;
  const shared = sharedTokens(config);
  const { failed_verifications: failures } = limits;
  const keptClaims = namedClaims(config, limits);
  return {
    providers: rules.flatMap((each, index) => {
      const options = providers[index];
      return options === undefined
        ? []
        : [compileProvider(options, { ...each, keptClaims, requirements }, config)];
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

function compileProvider(
  { provider, client, maxInFlight, signIn, notices }: ProviderConfigOptions,
  rules: ProviderRules,
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
    opaqueTokens: rules.opaqueTokens,
    accessTokens: accessTokenOptions(rules, shared, provider.tenants, client?.clientId ?? null),
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

function sharedTokens(config: GatewayConfig): AccessTokensConfig {
  return config.access_tokens ?? accessTokensSchema.parse({});
}

function accessTokenOptions(
  rules: ProviderRules,
  shared: AccessTokensConfig,
  tenants: Tenants | null,
  clientId: string | null,
): AccessTokenOptions {
  const { name: _, notBeforeS: __, opaqueTokens: ___, bots, ...ofTokens } = rules;
  return {
    ...ofTokens,
    tenants,
    clientId,
    bots: bots && { claim: bots.claim, value: bots.value ?? null, principal: bots.principal },
    identityHeaders: headersIn(shared),
    roleClaims: shared.roles,
    dpop: shared.dpop?.mode ?? 'off',
    leewayMs: shared.leeway,
    maxLifetimeMs: shared.max_lifetime,
  };
}

function headersIn({ identity_headers: headers }: AccessTokensConfig): readonly IdentityHeader[] {
  return Object.entries(headers).map(([name, claim]) => ({ name, claim }));
}

/** The rules for the tokens of a provider, and how they identify callers. */
interface TokenRules
  extends Pick<
    AccessTokenOptions,
    'issuer' | 'isOneOfSeveral' | 'audience' | 'audienceClaim' | 'tokenKind' | 'principal' | 'classes'
  > {
  /** The provider's name; `null` for `identity_provider`, which has none. */
  readonly name: string | null;
  readonly bots: AccessTokensConfig['bots'];
  readonly opaqueTokens: AccessTokensConfig['opaque_tokens'];
  readonly notBeforeS: number;
}

/** The token rules of a provider, with those for the callers of every provider. */
interface ProviderRules extends TokenRules, Pick<AccessTokenOptions, 'keptClaims' | 'requirements'> {}

/** The rules of each provider, in the order of the file: from `access_tokens`, or from the entries of `identity_providers`. */
function tokenRulesIn(config: GatewayConfig): readonly TokenRules[] {
  const { identity_provider: one, identity_providers: several = [], access_tokens: tokens } = config;
  const entries = several.map(entry =>
    rulesOf(entry, { name: entry.name, issuer: entry.issuer, isOneOfSeveral: several.length > 1 }),
  );
  if (one === undefined) return entries;
  if (tokens === undefined) throw new Error('access_tokens was not checked: identity_provider needs it');
  return [rulesOf(tokens, { name: null, issuer: one.issuer, isOneOfSeveral: false })];
}

type Rules = Pick<
  AccessTokensConfig,
  | 'audience'
  | 'audience_claim'
  | 'token_kind'
  | 'principal'
  | 'bots'
  | 'classes'
  | 'opaque_tokens'
  | 'not_before'
>;

function rulesOf(
  written: Rules,
  provider: Pick<TokenRules, 'name' | 'issuer' | 'isOneOfSeveral'>,
): TokenRules {
  const rules = withTenants(written, provider.issuer);
  const { audience, audience_claim: audienceClaim, principal, bots, not_before: notBeforeS } = rules;
  const { opaque_tokens: opaqueTokens, token_kind: kind } = rules;
  if (audience === undefined) throw new Error('audience was not checked');
  const issuer = provider.isOneOfSeveral ? provider.issuer : null;
  const claims = claimsByKind(rules, { provider: provider.name, issuer });
  const classes = Object.entries(rules.classes).map(
    ([name, { claim, value, callers = [] }]): ClassRule => ({
      name,
      marked: claim === undefined ? null : { claim, value: value ?? null },
      callers: new Set(callers.flatMap(caller => principalsOf(caller, claims))),
    }),
  );
  const tokenKind = typeof kind === 'string' ? kind : { claim: kind.claim, value: kind.value ?? null };
  return {
    ...{ ...provider, audience, audienceClaim, tokenKind, principal, bots, classes },
    ...{ opaqueTokens, notBeforeS },
  };
}

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

/** The parts of a configuration that determine how callers are identified. */
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

/** API keys, which lists of callers know by their names: `{ key: partner-7 }`. */
export const KEY_CALLERS: CallerClaims = { kind: 'key', claims: ['key'], provider: null, issuer: null };

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

/** Returns the key of a claim in lists of callers in limits.yaml. */
export function keyOfClaim(claim: string): string {
  if (claim === 'azp') return 'client';
  return claim === 'sub' ? 'subject' : claim;
}

/** An entry of limits.yaml that lists a caller. */
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

/**
 * Returns the principals that an entry refers to: several if bots and users, or users of several providers, have the same claims.
 */
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
