import { buildAuthorizationUrl, None } from 'openid-client';
import { libraryConfiguration } from './library.ts';
import type { SignInOptions } from './options.ts';
import type { ProviderMetadata } from './provider/index.ts';

/**
 * The URL of the page where a user signs in, with `client_id`, `redirect_uri`, `response_type=code` and `scope`. It is the
 * same for everyone, so it has no `state`, `nonce` or `code_challenge`: a client that wants them adds them.
 */
export function authorizeUrl(
  metadata: ProviderMetadata,
  options: Pick<SignInOptions, 'clientId' | 'redirectUri' | 'scope'>,
): string {
  const configuration = libraryConfiguration(metadata, options.clientId, None());
  return buildAuthorizationUrl(configuration, { redirect_uri: options.redirectUri, scope: options.scope })
    .href;
}
