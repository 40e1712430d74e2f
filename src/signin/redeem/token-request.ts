import { type ClientAuth, customFetch, genericGrantRequest } from 'openid-client';
import { libraryConfiguration } from '../client-authentication.ts';
import type { ProviderOptions } from '../options.ts';
import {
  askProvider,
  ProviderFault,
  type ProviderMetadata,
  type ProviderResponse,
} from '../provider/index.ts';
import type { TokenMembers } from './auth-response.ts';
import { GRANT_TYPES, type Grant } from './request.ts';
import { jsonMembers } from './request-body.ts';

/** What a token request needs in addition to the grant. */
export interface TokenRequestDependencies {
  readonly metadata: ProviderMetadata;
  readonly provider: ProviderOptions;
  readonly clientId: string;
  readonly authentication: ClientAuth;
}

/**
 * Trades a code or a refresh token for tokens with at most one token request. A provider that rotates refresh tokens takes a
 * second one with the same token for theft and ends the session (RFC 9700, 4.14.2). Only its own deadline can cancel the
 * request: if a disconnect could, the code or token might or might not be spent.
 *
 * Uses `genericGrantRequest` because `authorizationCodeGrant` passes `redirect_uri` through `URL`, which changes its
 * spelling, and the provider compares it byte for byte.
 *
 * Rejects with a `ProviderFault` or with what openid-client throws: see outcome.ts.
 */
export async function requestTokens(grant: Grant, parts: TokenRequestDependencies): Promise<TokenMembers> {
  const deadline = AbortSignal.timeout(parts.provider.timeoutMs);
  const configuration = libraryConfiguration(parts.metadata, parts.clientId, parts.authentication);
  // Switch off the library's timeout, which restarts for each step and takes only whole milliseconds.
  configuration.timeout = 0;
  let asked = false;
  let members: TokenMembers | undefined;
  configuration[customFetch] = async (url, { headers, body }) => {
    if (asked) throw new ProviderFault('nonsense', 'a second token request was about to be sent');
    asked = true;
    const response = await askProvider(
      { method: 'POST', url, headers: { ...headers, 'user-agent': 'weir' }, body: String(body), deadline },
      parts.provider,
    );
    members = response.status === 200 ? jsonMembers(response.body) : undefined;
    return members === undefined ? plainResponse(response) : essentials(members);
  };
  await genericGrantRequest(configuration, GRANT_TYPES[grant.kind], { ...grant.parameters });
  if (members === undefined)
    throw new ProviderFault('nonsense', 'the token response is not a JSON object', { status: 200 });
  return members;
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

/**
 * A refusal for the library to read, with a content type and no other fields: given `WWW-Authenticate`, it would not read
 * the body, whose `error` says more than the challenge.
 */
function plainResponse({ status, body }: ProviderResponse): Response {
  // `Response` accepts only these statuses, and a body with most of them only.
  if (status < 200 || status > 599)
    throw new ProviderFault('malformed', `the token endpoint answered ${status}`);
  const bodiless = status === 204 || status === 205 || status === 304;
  return new Response(bodiless ? null : new Uint8Array(body), {
    status,
    headers: { 'content-type': 'application/json' },
  });
}
