import { buildAuthorizationUrl, None } from 'openid-client';
import { GatewayError } from '../../core/index.ts';
import { libraryConfiguration } from './client-request.ts';
import type { AuthorizationParameters, SignInOptions } from './options.ts';
import type { ProviderMetadata } from './provider.ts';

/**
 * Parameters of the authorization request that neither the operator nor a client chooses. The gateway writes the first four; a
 * client appends any of the next four to the URL itself, because it has to compare the answer with a value that only it knows. A
 * request object could contain all of them (RFC 9101).
 */
export const RESERVED_PARAMETERS: readonly string[] = [
  ...['redirect_uri', 'client_id', 'response_type', 'scope'],
  ...['state', 'nonce', 'code_challenge', 'code_challenge_method'],
  ...['request', 'request_uri'],
];

/**
 * The parameters of a query that clients may choose. Others are ignored, and so are empty ones, which count as left out (RFC 6749,
 * 3.1). One that is given twice is an error (also there).
 *
 * @param query as received, with its `?`; '' for none
 */
export function chosenParameters(
  query: string,
  { allow }: AuthorizationParameters,
): ReadonlyMap<string, string> | GatewayError {
  const chosen = new Map<string, string>();
  if (query === '' || allow.length === 0) return chosen;
  const given = new URLSearchParams(query);
  for (const name of allow) {
    const [value = '', ...others] = given.getAll(name);
    if (others.length > 0)
      return new GatewayError({ status: 400, message: `The parameter ${name} is given more than once.` });
    if (value !== '') chosen.set(name, value);
  }
  return chosen;
}

/**
 * The URL of the page where a user signs in, with `client_id`, `redirect_uri`, `response_type=code`, `scope`, the fixed parameters
 * and those that the client has chosen. It has no `state`, `nonce` or `code_challenge`: clients that want them add them. Clients
 * cannot change parameters in the endpoint's own query.
 */
export function authorizeUrl(
  metadata: ProviderMetadata,
  options: Pick<SignInOptions, 'clientId' | 'redirectUri' | 'scope' | 'authorizationParameters'>,
  chosen: ReadonlyMap<string, string> = new Map(),
): string {
  const configuration = libraryConfiguration(metadata, options.clientId, None());
  const own = new URL(metadata.authorizationEndpoint ?? 'about:blank').searchParams;
  const parameters = [
    ['redirect_uri', options.redirectUri],
    ['scope', options.scope],
    ...Object.entries(options.authorizationParameters.fixed),
    ...[...chosen].filter(([name]) => !own.has(name)),
  ];
  return buildAuthorizationUrl(configuration, new URLSearchParams(parameters)).href;
}
