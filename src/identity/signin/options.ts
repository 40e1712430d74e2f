import type { Tenants } from '../../core/index.ts';

/**
 * How to find and reach an identity provider. Compiled from `identity_provider` in gateway.yaml, or from an entry of
 * `identity_providers`.
 */
export interface ProviderOptions {
  /** Exactly as the provider spells it, with or without a trailing slash. */
  readonly issuer: string;
  /** Its tenants, if the issuer has a placeholder; else `null`. */
  readonly tenants: Tenants | null;
  /**
   * The address of the discovery document if it is not `{issuer}/.well-known/openid-configuration`, for a provider with
   * different names inside and outside the cluster; `null` to derive it from the issuer.
   */
  readonly discoveryUrl: string | null;
  /** Addresses that replace those of the discovery document. No document is fetched if all required ones are given. */
  readonly endpoints: EndpointOverrides;
  /** Whether users sign in there. If not, only its keys are needed: some providers have no sign-in. */
  readonly signsIn: boolean;
  /** Whether plain http is allowed to hosts other than loopback. */
  readonly allowHttp: boolean;
  /** Forward proxies for all requests to it; `null` for none. */
  readonly proxy: ProxyVariables | null;
  readonly tls: ProviderTls;
  /** The timeout of one complete request, from the name lookup to the last byte. At least 1. */
  readonly timeoutMs: number;
  /** Largest response accepted from the provider, in bytes. */
  readonly maxResponseBytes: number;
  /** The time between two successful fetches of the discovery document. */
  readonly refreshMs: number;
}

/** The names of the environment variables for proxies; the lower-case forms work as well. */
export const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'] as const;

/** Variables of an environment, as Node's agents read them (`proxyEnv`): proxies by scheme, and the hosts that need none. */
export type ProxyVariables = Readonly<Record<string, string>>;

/** What a sign-out ends at the provider: the refresh token, the whole session (including the browser's), or nothing. */
export type SignOutEnds = 'refresh_token' | 'session' | 'nothing';

/** Addresses configured by the operator; `null` means the address in the discovery document. */
export interface EndpointOverrides {
  /** The login page, opened by browsers. */
  readonly authorization: string | null;
  /** Where codes and refresh tokens are exchanged for tokens. */
  readonly token: string | null;
  /** The key set (`jwks_uri`). */
  readonly keySet: string | null;
  /** Where refresh tokens are revoked (RFC 7009). */
  readonly revocation: string | null;
  readonly endSession: string | null;
  /** Where the gateway asks whether a token is still valid (RFC 7662). */
  readonly introspection: string | null;
}

/** PEM texts, or `null`. `certificate` and `key` are given together. */
export interface ProviderTls {
  /** Certificates to trust instead of the system's authorities. */
  readonly ca: string | null;
  /** The gateway's client certificate, for a provider that requests one. */
  readonly certificate: string | null;
  readonly key: string | null;
}

/** The gateway as a client of the provider. */
export interface ClientOptions {
  readonly clientId: string;
  readonly clientAuthentication: ClientAuthentication;
}

/** How the gateway asks whether tokens are still valid. */
export interface IntrospectionOptions extends ClientOptions {
  /** The maximum number of requests in progress; one address may have a quarter of them. Beyond either, clients get 503. */
  readonly maxInFlight: number;
  /** The number of tokens whose answers are remembered. */
  readonly maxTokens: number;
}

/** How the gateway signs users in as a client of the provider. */
export interface SignInOptions extends ClientOptions {
  /** The default `redirect_uri` of the authorization URL. */
  readonly redirectUri: string;
  /** The requested scopes, separated by a space. */
  readonly scope: string;
  readonly authorizationParameters: AuthorizationParameters;
  /**
   * The redirect URIs accepted with a code, compared as strings, except for a port of `*` on loopback; the default one is always
   * included. `null` accepts any: the provider checks them as well.
   */
  readonly redirectAllowList: readonly string[] | null;
  /**
   * The maximum number of requests in flight for signing in, refreshing and signing out; one address may have a quarter of them.
   * Beyond either, clients get 503.
   */
  readonly maxInFlight: number;
  readonly signOutEnds: SignOutEnds;
}

/** Further parameters of the authorization URL (RFC 6749, 4.1.1). */
export interface AuthorizationParameters {
  /** Parameters of every URL, by their names. */
  readonly fixed: Readonly<Record<string, string>>;
  /** The names of those that clients may choose. */
  readonly allow: readonly string[];
}

/** How the gateway authenticates to the token endpoint, by the names in the OpenID Connect registry. */
export type ClientAuthentication =
  /** Sends the secret in the `Authorization` field (RFC 6749, 2.3.1). */
  | { readonly kind: 'client_secret_basic'; readonly secret: string }
  /** Sends the secret among the parameters (RFC 6749, 2.3.1). */
  | { readonly kind: 'client_secret_post'; readonly secret: string }
  /** Sends an assertion signed with the gateway's own key (RFC 7523). */
  | {
      readonly kind: 'private_key_jwt';
      /** PEM, unencrypted: RSA, or EC on P-256, P-384 or P-521. */
      readonly key: string;
      /** The `kid` of the assertion, or `null`. */
      readonly keyId: string | null;
      /** The algorithm to sign with; `null` for RS256, or the one determined by the curve of an EC key. */
      readonly algorithm: AssertionAlgorithm | null;
      /** The `aud` of the assertion: `issuer`, `token_endpoint` for the address of the called endpoint, or a fixed text. */
      readonly audience: string;
      /** The certificate of the key, PEM, by which the provider finds the key (`x5t`, `x5t#S256`); `null` for none. */
      readonly certificate: string | null;
    }
  /** Presents the certificate of `ProviderTls` (RFC 8705). */
  | { readonly kind: 'tls_client_auth' }
  /** Sends only the client id, as a public client does. */
  | { readonly kind: 'none' };

export type AssertionAlgorithm = `${'RS' | 'PS' | 'ES'}${256 | 384 | 512}`;

/** The provider options that are not configurable. */
export const PROVIDER_LIMITS = { maxResponseBytes: 1_048_576, refreshMs: 600_000 } as const;

export const NO_TLS: ProviderTls = { ca: null, certificate: null, key: null };
