import { type Configuration, genericGrantRequest } from 'openid-client';
import type { ProviderClient } from '../client-request.ts';
import {
  jsonMembers,
  ProviderFault,
  type ProviderMetadata,
  type ProviderResponse,
} from '../provider/index.ts';
import type { TokenMembers } from './auth-response.ts';
import { GRANT_TYPES, type Grant } from './request.ts';

/**
 * Trades a code or a refresh token for tokens with at most one token request. A provider that rotates refresh tokens takes a
 * second one with the same token for theft and ends the session (RFC 9700, 4.14.2). If a disconnect could cancel the request,
 * the code or token might or might not be spent.
 *
 * Uses `genericGrantRequest` because `authorizationCodeGrant` passes `redirect_uri` through `URL`, which changes its
 * spelling, and the provider compares it byte for byte. Rejects as `ProviderClient.ask` does.
 */
export function requestTokens(
  { kind, parameters }: Grant,
  client: ProviderClient,
  metadata: ProviderMetadata,
): Promise<TokenMembers> {
  let members: TokenMembers = new Map();
  const request = {
    endpoint: 'token endpoint',
    successes: [200],
    secrets: Object.values(parameters),
    async send(configuration: Configuration) {
      await genericGrantRequest(configuration, GRANT_TYPES[kind], { ...parameters });
      return members;
    },
    read({ body }: ProviderResponse) {
      const found = jsonMembers(body);
      if (found === undefined)
        throw new ProviderFault('nonsense', 'the token response is not a JSON object', { status: 200 });
      members = found;
      return essentials(found);
    },
  };
  return client.ask(request, metadata);
}

/**
 * What the library gets to see of a good response. It would throw on a null `refresh_token`, a missing `token_type`, or an ID
 * token with an unexpected issue time, algorithm or encryption, and the user would have to sign in again because the code is
 * spent. auth-response.ts judges the members.
 */
function essentials(members: TokenMembers): Response {
  return Response.json({
    access_token: members.get('access_token'),
    token_type: members.get('token_type') ?? 'Bearer',
  });
}
