import type { ClientAuth } from 'openid-client';
import { libraryConfiguration } from '../library.ts';
import type { ProviderOptions, SignOutEnds } from '../options.ts';
import { askProvider, ProviderFault, type ProviderMetadata } from '../provider/index.ts';
import { refusedBy } from '../redeem/index.ts';

/** What ending something at the provider needs beside the refresh token. */
export interface EndDependencies {
  readonly metadata: ProviderMetadata;
  readonly provider: ProviderOptions;
  readonly clientId: string;
  readonly authentication: ClientAuth;
  /** The secrets in the request, which are cut out of the provider's explanation before it is logged. */
  readonly secrets: readonly string[];
}

interface Way {
  /** As the discovery document calls the endpoint. */
  readonly endpointName: string;
  endpointOf(metadata: ProviderMetadata): string | null;
  formOf(refreshToken: string): Readonly<Record<string, string>>;
  isSuccess(status: number): boolean;
}

/** What the provider can be asked to end. */
export type EndableThere = Exclude<SignOutEnds, 'nothing'>;

const WAYS: Readonly<Record<EndableThere, Way>> = {
  // RFC 7009, 2.1. The body of a 200 means nothing; one for an unknown token is a 200, too.
  refresh_token: {
    endpointName: 'revocation_endpoint',
    endpointOf: metadata => metadata.revocationEndpoint,
    formOf: token => ({ token, token_type_hint: 'refresh_token' }),
    isSuccess: status => status === 200 || status === 204,
  },
  // Keycloak's way to end a session without a browser. Another provider shows a page to a browser here, with a 200.
  session: {
    endpointName: 'end_session_endpoint',
    endpointOf: metadata => metadata.endSessionEndpoint,
    formOf: token => ({ refresh_token: token }),
    isSuccess: status => status === 204,
  },
};

/** Why the provider cannot end this; null: it can. */
export function whyNoEnd(ends: EndableThere, metadata: ProviderMetadata): ProviderFault | null {
  const { endpointName, endpointOf } = WAYS[ends];
  if (endpointOf(metadata) !== null) return null;
  return new ProviderFault('nonsense', `the provider publishes no usable ${endpointName}`);
}

/** Asks the provider, with one request, to end the refresh token or its session. Rejects with a `ProviderFault`. */
export async function endAtProvider(
  refreshToken: string,
  ends: EndableThere,
  { metadata, provider, clientId, authentication, secrets }: EndDependencies,
): Promise<void> {
  const way = WAYS[ends];
  const deadline = AbortSignal.timeout(provider.timeoutMs);
  const configuration = libraryConfiguration(metadata, clientId, authentication);
  const form = new URLSearchParams(way.formOf(refreshToken));
  const headers = new Headers({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': 'weir',
  });
  await authentication(configuration.serverMetadata(), configuration.clientMetadata(), form, headers);
  const response = await askProvider(
    {
      method: 'POST',
      url: way.endpointOf(metadata) ?? '',
      headers: Object.fromEntries(headers),
      body: form.toString(),
      deadline,
    },
    provider,
  );
  if (!way.isSuccess(response.status)) throw refusedBy(way.endpointName, response, secrets);
}
