import { allowInsecureRequests, type ClientAuth, Configuration } from 'openid-client';
import type { ProviderMetadata } from './provider/index.ts';

/** The provider and its client in the form that openid-client takes. Mutable and cheap, so each use makes its own. */
export function libraryConfiguration(
  metadata: ProviderMetadata,
  clientId: string,
  authentication: ClientAuth,
): Configuration {
  const configuration = new Configuration(
    {
      issuer: metadata.issuer,
      ...(metadata.authorizationEndpoint === null
        ? undefined
        : { authorization_endpoint: metadata.authorizationEndpoint }),
      ...(metadata.tokenEndpoint === null ? undefined : { token_endpoint: metadata.tokenEndpoint }),
    },
    clientId,
    undefined,
    authentication,
  );
  // address.ts already decided which addresses may be plain http.
  allowInsecureRequests(configuration);
  return configuration;
}
