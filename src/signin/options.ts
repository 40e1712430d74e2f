/** How the identity provider is found and reached. Compiled from `identity_provider:` of gateway.yaml. */
export interface ProviderOptions {
  /** Exactly as the provider itself writes it, trailing slash or none included. */
  readonly issuer: string;
  /**
   * Where the discovery document is, when that is not `{issuer}/.well-known/openid-configuration`: a provider may have
   * another name inside the cluster than outside. Null: derived from the issuer.
   */
  readonly discoveryUrl: string | null;
  /** Release instead of what the discovery document says. With all three given no document is fetched. */
  readonly endpoints: EndpointOverrides;
  /** Whether plain http may be spoken to hosts other than loopback. */
  readonly allowHttp: boolean;
  readonly tls: ProviderTls;
  /** For one request to the provider in all: name, connection, answer's last byte. Milliseconds, at least 1. */
  readonly timeoutMs: number;
  /** An answer of the provider that is larger is refused. Bytes. */
  readonly maxAnswerBytes: number;
  /** Between two readings of the discovery document while all is well. */
  readonly refreshMs: number;
}

/** Addresses that the operator knows better; null: the provider's own word counts. */
export interface EndpointOverrides {
  /** Opened by browsers. */
  readonly authorization: string | null;
  /** Called by the gateway. */
  readonly token: string | null;
  /** The key set (`jwks_uri`), read by the gateway. */
  readonly keySet: string | null;
}

/** PEM texts; null: not given. `certificate` and `key` come together. */
export interface ProviderTls {
  /** Certificates to trust instead of the usual authorities. */
  readonly ca: string | null;
  /** The gateway's own certificate, shown to a provider that asks for one. */
  readonly certificate: string | null;
  readonly key: string | null;
}

/** How the gateway acts as a client of the provider. */
export interface SignInOptions {
  readonly clientId: string;
  readonly clientAuthentication: ClientAuthentication;
  /** The default `redirect_uri` of the authorization URL. */
  readonly redirectUri: string;
  /** Scopes asked for, separated by a space. */
  readonly scope: string;
  /**
   * The redirect URIs that may be redeemed, compared as strings; the default one is always among them. Null: any, the
   * provider knows its client's redirect URIs itself.
   */
  readonly redirectAllowList: readonly string[] | null;
  /** Token requests on their way at once, at most a quarter of them for one address; past either 503. */
  readonly maxInFlight: number;
}

/** How the gateway proves to the token endpoint who it is, by the names of the OpenID Connect registry. */
export type ClientAuthentication =
  /** The secret in the `Authorization` field (RFC 6749 section 2.3.1). */
  | { readonly kind: 'client_secret_basic'; readonly secret: string }
  /** The secret among the parameters (RFC 6749 section 2.3.1). */
  | { readonly kind: 'client_secret_post'; readonly secret: string }
  /** An assertion signed with the gateway's own key (RFC 7523). */
  | {
      readonly kind: 'private_key_jwt';
      /** PEM, unencrypted: RSA, or EC on P-256, P-384 or P-521. */
      readonly key: string;
      /** `kid` of the assertion; null: none. */
      readonly keyId: string | null;
      /** Null: RS256, or what the curve of an EC key demands. */
      readonly algorithm: AssertionAlgorithm | null;
    }
  /** The certificate of `ProviderTls` (RFC 8705). */
  | { readonly kind: 'tls_client_auth' }
  /** A public client: the id alone. */
  | { readonly kind: 'none' };

export type AssertionAlgorithm =
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512';

export const PROVIDER_DEFAULTS: Omit<ProviderOptions, 'issuer'> = {
  discoveryUrl: null,
  endpoints: { authorization: null, token: null, keySet: null },
  allowHttp: false,
  tls: { ca: null, certificate: null, key: null },
  timeoutMs: 5_000,
  maxAnswerBytes: 1_048_576,
  refreshMs: 600_000,
};
