import type { SignOutEnds } from '../options.ts';
import { type ClientDependencies, postAsClient } from '../post-as-client.ts';
import { ProviderFault, type ProviderMetadata } from '../provider/index.ts';
import { refusedBy } from '../redeem/index.ts';

/** What ending something at the provider needs beside the refresh token. */
export interface EndDependencies extends ClientDependencies {
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
  { secrets, ...parts }: EndDependencies,
): Promise<void> {
  const way = WAYS[ends];
  const url = way.endpointOf(parts.metadata) ?? '';
  const response = await postAsClient(url, way.formOf(refreshToken), parts);
  if (!way.isSuccess(response.status)) throw refusedBy(way.endpointName, response, secrets);
}
