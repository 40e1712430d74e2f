import { buildAuthorizationUrl, None } from 'openid-client';
import { libraryConfiguration } from './library.ts';
import type { SignInOptions } from './options.ts';
import type { ProviderMetadata } from './provider/index.ts';

/**
 * The page where a user signs in: `client_id`, `redirect_uri`, `response_type=code` and `scope` are in it. There is no
 * `state`, no `nonce` and no `code_challenge`: the url is the same for everyone, and a client that wants them adds them.
 */
export function authorizeUrl(
  metadata: ProviderMetadata,
  options: Pick<SignInOptions, 'clientId' | 'redirectUri' | 'scope'>,
): string {
  const configuration = libraryConfiguration(metadata, options.clientId, None());
  return buildAuthorizationUrl(configuration, { redirect_uri: options.redirectUri, scope: options.scope })
    .href;
}
