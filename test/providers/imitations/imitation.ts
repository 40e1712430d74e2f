type Members = Readonly<Record<string, unknown>>;

/** A token as the provider issues it. The imitation adds `iat` and `exp`, and signs it. */
export interface ImitatedToken {
  /** In a sentence: "a user's token". */
  readonly what: string;
  readonly header: Members;
  readonly claims: Members;
}

/** An error of the token endpoint, and what the client of the gateway gets for a refresh token. */
export interface ImitatedError {
  readonly status: number;
  readonly body: Members;
  readonly refresh: number;
}

/** A provider in the table of docs/providers.md. */
export interface ProviderRow {
  readonly name: string;
  /** The keys of gateway.yaml, at most 15 lines. */
  readonly config: string;
  /** What the provider must be told. */
  readonly told: string;
  /** What of the real one runs in the tests; left out: nothing, so an imitation is all that was tried. */
  readonly real?: string;
  /** The pages that say so. */
  readonly sources: readonly string[];
}

/**
 * What a provider publishes, as far as the gateway sees it, and how the gateway is configured for it. Addresses are the provider's own: the
 * gateway reaches the imitation through a proxy.
 */
export interface Imitation extends ProviderRow {
  /** The discovery document by its address; `null` if the configuration needs none. */
  readonly discovery: { readonly url: string; readonly document: Members } | null;
  readonly keySetUrl: string;
  /** The media type of the key set, which requests have to accept. Left out: any. */
  readonly keySetType?: string;
  /** Members of the key besides its public ones; undefined removes one. */
  readonly key: Members;
  readonly tokenUrl?: string;
  /** Where its opaque tokens are asked about. The answers have the claims; a header means nothing. Left out: tokens are JWTs. */
  readonly introspectionUrl?: string;
  /** The API that each token request has to name; else it gets an opaque token. Left out: none. */
  readonly resource?: string;
  /** What the token endpoint demands of an assertion: its audience. */
  readonly assertionAudience?: string;
  readonly accepted: readonly ImitatedToken[];
  /** With the reason in the log. */
  readonly refused: readonly (ImitatedToken & { readonly reason: string })[];
  readonly errors?: readonly ImitatedError[];
}

/** A discovery document where its standard has it, and the endpoints that it names. */
export function published(
  issuer: string,
  endpoints: Members & { readonly jwks_uri: string; readonly token_endpoint: string },
) {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return {
    discovery: { url, document: { issuer, ...endpoints } },
    ...{ keySetUrl: endpoints.jwks_uri, tokenUrl: endpoints.token_endpoint },
  };
}
