import type { ClientAuth } from 'openid-client';
import { libraryConfiguration } from './client-authentication.ts';
import type { ProviderOptions } from './options.ts';
import { askProvider, type ProviderMetadata, type ProviderResponse } from './provider/index.ts';

/** The gateway as a client of the provider. */
export interface ClientDependencies {
  readonly metadata: ProviderMetadata;
  readonly provider: ProviderOptions;
  readonly clientId: string;
  readonly authentication: ClientAuth;
}

/** Posts a form to an endpoint of the provider, as the gateway's client there, once. Rejects with a `ProviderFault`. */
export async function postAsClient(
  url: string,
  parameters: Readonly<Record<string, string>>,
  { metadata, provider, clientId, authentication }: ClientDependencies,
): Promise<ProviderResponse> {
  const deadline = AbortSignal.timeout(provider.timeoutMs);
  const configuration = libraryConfiguration(metadata, clientId, authentication);
  const form = new URLSearchParams(parameters);
  const headers = new Headers({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': 'weir',
  });
  await authentication(configuration.serverMetadata(), configuration.clientMetadata(), form, headers);
  const fields = Object.fromEntries(headers);
  return askProvider({ method: 'POST', url, headers: fields, body: form.toString(), deadline }, provider);
}
