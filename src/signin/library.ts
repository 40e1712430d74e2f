import { allowInsecureRequests, type ClientAuth, Configuration } from 'openid-client';
import type { ProviderMetadata } from './provider/index.ts';

/** The provider and its client as openid-client wants them. A fresh one for every use: they are cheap and mutable. */
export function libraryConfiguration(
  metadata: ProviderMetadata,
  clientId: string,
  authentication: ClientAuth,
): Configuration {
  const configuration = new Configuration(
    {
      issuer: metadata.issuer,
      authorization_endpoint: metadata.authorizationEndpoint,
      token_endpoint: metadata.tokenEndpoint,
    },
    clientId,
    undefined,
    authentication,
  );
  // Which addresses may be plain http was decided when they were learnt: see address.ts.
  allowInsecureRequests(configuration);
  return configuration;
}
