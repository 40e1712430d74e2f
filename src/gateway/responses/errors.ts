import { type Cap, type Fields, GatewayError, type PoolName, retryAfterField } from '../../core/index.ts';
import type { Invalid, Requirement, Shortfall } from '../../identity/auth/index.ts';
import { isOwnLack } from '../../upstream/index.ts';
import { CHALLENGE, type Challenged, challenges, OF_BEARER, proofErrorOf } from './challenges.ts';

// Every error that the gateway itself answers with, except the 429s. Messages are ASCII, never repeat what the client sent, and
// say what to do if anything can be done.

/** The methods that routes can serve. */
export const USUAL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** For an ambiguous request. Nothing after it on the connection can be trusted. */
export function badRequest(why: string): GatewayError {
  return new GatewayError({ status: 400, message: `Bad request: ${why}.`, close: true });
}

export function methodNotSupported(allow: readonly string[]): GatewayError {
  return new GatewayError({
    status: 405,
    message: 'This method is not supported here.',
    fields: ['Allow', allow.join(', ')],
    close: true,
  });
}

/** For a path that exists for other methods. */
export function wrongMethod(allow: string): GatewayError {
  return new GatewayError({ status: 405, message: `Use ${allow} here.`, fields: ['Allow', allow] });
}

/**
 * For a request without a valid token. A client that sent one is told that it is invalid; one that sent none, or used another
 * scheme, gets no error code (RFC 6750, 3.1). The reason is only logged,
 * except for the length: that is a limit of the gateway, and a new token would be as long.
 */
export function unauthenticated(refused: Invalid | null, sender = OF_BEARER): GatewayError {
  const fields = challenges(refused, sender);
  return new GatewayError({ status: 401, message: messageOf(refused, sender), fields });
}

/** @param keyField the field for API keys, if one would do as well */
function messageOf(refused: Invalid | null, { dpop }: Challenged, keyField: string | null = null): string {
  const error = refused === null ? null : proofErrorOf(refused.reason);
  if (error === 'use_dpop_nonce') return 'The DPoP proof has to contain the nonce in DPoP-Nonce.';
  if (error !== null)
    return 'The access token is bound to a key: send a valid DPoP proof for this request with it.';
  if (refused?.reason === 'too_long') return 'The access token is longer than this service accepts.';
  const scheme = dpop?.required === true ? 'DPoP' : 'Bearer';
  return keyField === null
    ? `A valid access token is required: Authorization: ${scheme} <token>.`
    : `A valid access token or API key is required: Authorization: ${scheme} <token>, or ${keyField}: <key>.`;
}

/**
 * For a request without a valid API key where one is accepted.
 *
 * @param header the field for keys
 * @param isWrong whether the request had one
 * @param refused as in `unauthenticated`, if a token would be accepted as well; else `undefined`
 * @param sender as in `unauthenticated`
 */
export function withoutKey(
  header: string,
  isWrong: boolean,
  refused: Invalid | null | undefined,
  sender: Challenged,
): GatewayError {
  const ofKeys = `ApiKey header="${header}"${isWrong ? ', error="invalid_key"' : ''}`;
  if (refused === undefined)
    return new GatewayError({
      status: 401,
      message: `A valid API key is required: ${header}: <key>.`,
      fields: [CHALLENGE, ofKeys],
    });
  const ofToken = isWrong ? null : refused;
  return new GatewayError({
    status: 401,
    message: messageOf(ofToken, sender, header),
    fields: [...challenges(ofToken, sender), CHALLENGE, ofKeys],
  });
}

/** For an API key whose line does not meet the route's requirements. What it lacks is only logged: no client can ask for more. */
export function insufficientKey(): GatewayError {
  return new GatewayError({ status: 403, message: 'This API key may not be used here.' });
}

/** For a request with an access token and an API key. */
export function twoCredentials(): GatewayError {
  return new GatewayError({
    status: 400,
    message: 'Bad request: it has an access token and an API key. Send one of them.',
  });
}

/**
 * For a valid token that does not meet the route's requirements. Names missing scopes, which a client can request (RFC 6750,
 * 3.1); missing roles and claims are only logged.
 */
export function insufficient(
  requirement: Requirement,
  shortfall: Shortfall,
  { usesDpop }: Challenged,
): GatewayError {
  const scopes = requirement.scopes.join(' ');
  const lacksScopes = shortfall === 'scopes';
  const scheme = usesDpop ? 'DPoP' : 'Bearer';
  return new GatewayError({
    status: 403,
    message: lacksScopes
      ? `The access token needs these scopes here: ${scopes}.`
      : 'This caller has no right to what is here.',
    fields: lacksScopes ? [CHALLENGE, `${scheme} error="insufficient_scope", scope="${scopes}"`] : [],
    cause: `the token lacks ${shortfall} that the route requires: ${demandedOf(requirement)[shortfall]}`,
  });
}

/** What a requirement demands, for the log, in the configuration's terms. */
function demandedOf({ scopes, roles, claims }: Requirement): Readonly<Record<Shortfall, string>> {
  return {
    scopes: scopes.join(', '),
    roles: roles.map(({ client, name }) => (client === null ? name : `${client}:${name}`)).join(', '),
    claims: claims.map(({ claim }) => claim).join(', '),
  };
}

/**
 * For a sign-out with a token of a provider that the gateway does not sign users in with: the session has ended, but the refresh
 * token stays valid.
 */
export function signedInElsewhere(): GatewayError {
  return new GatewayError({
    status: 400,
    message:
      'The access tokens of this session are refused from now on. They are of a provider where this gateway signs no users in, so the refresh token was sent nowhere and is still valid: revoke it there.',
  });
}

/** For a token whose signing keys cannot be fetched from the issuer at the moment. */
export function keysUnreachable(retryAfterMs: number): GatewayError {
  return new GatewayError({
    status: 503,
    side: 'provider',
    message: 'The token cannot be checked at the moment. Try again shortly.',
    fields: retryAfterField(retryAfterMs),
  });
}

/** For a request while Redis is unreachable and `on_failure` is `closed`. */
export function storeUnreachable(retryAfterMs: number): GatewayError {
  return new GatewayError({
    status: 503,
    side: 'store',
    message: 'Limits cannot be checked at the moment. Try again shortly.',
    fields: retryAfterField(retryAfterMs),
  });
}

export function clientTooSlow(): GatewayError {
  return new GatewayError({ status: 408, message: 'The request did not arrive in time.', close: true });
}

export function bodyTooSlow(): GatewayError {
  return new GatewayError({ status: 408, message: 'The request body arrived too slowly.', close: true });
}

export function bodyTooLarge(): GatewayError {
  return new GatewayError({
    status: 413,
    message: 'The request body is larger than this route accepts.',
    close: true,
  });
}

export function expectationNotMet(): GatewayError {
  return new GatewayError({
    status: 417,
    message: 'The only expectation supported is 100-continue.',
    close: true,
  });
}

export function headTooLarge(): GatewayError {
  return new GatewayError({
    status: 431,
    message: 'The header section is too large (caps.head) or has too many fields (caps.fields).',
    close: true,
  });
}

/** @param isHttp2 whether the client speaks HTTP/2 on a connection that is served as HTTP/1.1 */
export function versionNotSupported(isHttp2: boolean): GatewayError {
  return new GatewayError({
    status: 505,
    message: isHttp2
      ? 'This connection speaks HTTP/1.1 and HTTP/1.0, not HTTP/2.'
      : 'No request line can ask for this version of HTTP: send HTTP/1.1 or HTTP/1.0.',
    close: true,
  });
}

export function noRoute(): GatewayError {
  return new GatewayError({ status: 404, message: 'There is nothing at this path.' });
}

/** For an upgrade on a route that serves no WebSockets. */
export function upgradeNotServed(): GatewayError {
  return new GatewayError({ status: 501, message: 'There are no WebSockets at this path.' });
}

/** For another version of WebSocket. Names the supported one (RFC 6455, 4.4; RFC 9110, 15.5.22). */
export function otherVersion(): GatewayError {
  return new GatewayError({
    status: 426,
    message: 'The only version of WebSocket supported is 13.',
    fields: ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Version', '13'],
  });
}

/** For a WebSocket opened by a page of an origin that `cors` does not list. */
export function foreignOrigin(): GatewayError {
  return new GatewayError({ status: 403, message: 'Pages of this origin may not open WebSockets here.' });
}

/** For a client outside the networks of the route. */
export function foreignNetwork(): GatewayError {
  return new GatewayError({ status: 403, message: 'This address may not use what is here.' });
}

export function internalFault(cause: unknown): GatewayError {
  return new GatewayError({
    status: 500,
    side: 'gateway',
    message: 'The gateway failed to handle this request.',
    close: true,
    cause,
  });
}

export function upstreamFailed(cause: unknown): GatewayError {
  const isOurs = isOwnLack(cause);
  return new GatewayError({
    status: 502,
    side: isOurs ? 'gateway' : 'upstream',
    message: isOurs
      ? 'The gateway could not open a connection to the service behind it.'
      : 'The service behind the gateway failed to answer.',
    cause,
  });
}

export function upstreamTooSlow(cause: unknown): GatewayError {
  return new GatewayError({
    status: 504,
    side: 'upstream',
    message: 'The service behind the gateway did not answer in time.',
    cause,
  });
}

const RETRY_SOON: Fields = retryAfterField(1_000);

/** For a request beyond one of the gateway's caps. */
export function overloaded(cap: Cap): GatewayError {
  return new GatewayError({
    status: 503,
    side: 'gateway',
    message: 'Too many requests are in flight. Try again shortly.',
    fields: RETRY_SOON,
    cap,
  });
}

/** For a request while the process is too overloaded to serve it in time. */
export function fallenBehind(): GatewayError {
  return new GatewayError({
    status: 503,
    side: 'gateway',
    message: 'The gateway is overloaded. Try again shortly.',
    fields: RETRY_SOON,
    cap: 'event_loop_delay',
  });
}

/** For a request to an upstream that is at its cap for this kind. */
export function poolFull(pool: PoolName): GatewayError {
  return new GatewayError({
    status: 503,
    side: 'gateway',
    message: `Too many ${IN_FLIGHT[pool]}. Try again shortly.`,
    fields: RETRY_SOON,
    cap: `max_${pool}`,
  });
}

/** For a caller that has used up its share of an upstream that still has room. */
export function shareTaken(pool: PoolName): GatewayError {
  return new GatewayError({
    status: 503,
    message: `Too many of your ${IN_FLIGHT[pool]} to this service (max_${pool}_per_caller). Try again shortly.`,
    fields: RETRY_SOON,
    cap: `max_${pool}_per_caller`,
  });
}

/** What the requests in flight are called in messages. */
const IN_FLIGHT: Readonly<Record<PoolName, string>> = {
  requests: 'requests are in flight',
  websockets: 'WebSockets are open',
  grpc_calls: 'gRPC calls are in flight',
};
