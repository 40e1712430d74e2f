import type {
  AccessTokenOptions,
  ApiKeyLine,
  ClassRule,
  IdentityHeader,
  PrincipalKind,
} from '../../identity/auth/index.ts';
import { BUDGET_LIMITS, CACHE_LIMITS, KEY_SET_LIMITS, principalOf } from '../../identity/auth/index.ts';
import type { ClientOptions, IntrospectionOptions, SignInOptions } from '../../identity/signin/index.ts';
import type { IdentityModel, ProviderModel } from '../model/index.ts';
import type { Requirements } from '../policies/index.ts';
import type { LimitsConfig } from '../schema/index.ts';
import {
  type AccessTokensConfig,
  accessTokensSchema,
  type GatewayConfig,
  type ProviderConfigOptions,
  proofOptions,
  type tokenRules,
  withTenant,
} from '../settings/index.ts';
import { namedClaims } from './named-claims.ts';

interface CallerSources {
  readonly providers: readonly ProviderConfigOptions[];
  readonly apiKeys: readonly ApiKeyLine[];
}

/** Compiles providers, sign-in, tokens and API keys; `null` if neither a provider nor keys are configured. */
export function compileIdentity(
  config: GatewayConfig,
  limits: LimitsConfig,
  { providers, apiKeys: lines }: CallerSources,
  { all: requirements }: Requirements,
): IdentityModel | null {
  const written = writtenRules(config);
  const { api_keys: keys } = config;
  if (written.length !== providers.length) throw new Error('the providers were not checked');
  if (written.length === 0 && keys === undefined) return null;
  const shared = config.access_tokens ?? accessTokensSchema.parse({});
  const { failed_verifications: failures } = limits;
  const common = { keptClaims: namedClaims(config, limits), requirements };
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
function writtenRules(config: GatewayConfig): readonly WrittenRules[] {
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
