import type { Cap, Fields, GatewayErrorOptions, PoolName } from '../../core/index.ts';
import { GatewayError, RpcCode, retryAfterField } from '../../core/index.ts';
import type { Invalid, Requirement, Shortfall } from '../../identity/auth/index.ts';
import { isOwnLack } from '../../upstream/index.ts';
import { ErrorCode, errorName } from '../../wire/http2/index.ts';
import { CHALLENGE, type Challenged, challenges, OF_BEARER, proofErrorOf } from './challenges.ts';

// Every error that the gateway itself answers with, except the 429s. Messages are ASCII, never repeat what the client sent, and
// say what to do if anything can be done.

function refusal(status: number, message: string, more?: Partial<GatewayErrorOptions>): GatewayError {
  return new GatewayError({ ...more, status, message });
}

/** The methods that routes can serve. */
export const USUAL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** For an ambiguous request. Nothing after it on the connection can be trusted. */
export function badRequest(why: string): GatewayError {
  return refusal(400, `Bad request: ${why}.`, { close: true });
}

export function methodNotSupported(allow: readonly string[]): GatewayError {
  return refusal(405, 'This method is not supported here.', {
    fields: ['Allow', allow.join(', ')],
    close: true,
  });
}

/** For a path that exists for other methods. */
export function wrongMethod(allow: string): GatewayError {
  return refusal(405, `Use ${allow} here.`, { fields: ['Allow', allow] });
}

/**
 * For a request without a valid token. A client that sent one is told that it is invalid; one that sent none, or used another
 * scheme, gets no error code (RFC 6750, 3.1). The reason is only logged,
 * except for the length: that is a limit of the gateway, and a new token would be as long.
 */
export function unauthenticated(refused: Invalid | null, sender = OF_BEARER): GatewayError {
  const fields = challenges(refused, sender);
  return refusal(401, messageOf(refused, sender), { fields });
}

/** @param keyField the field for API keys, if a key is accepted as well */
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
    return refusal(401, `A valid API key is required: ${header}: <key>.`, { fields: [CHALLENGE, ofKeys] });
  const ofToken = isWrong ? null : refused;
  return refusal(401, messageOf(ofToken, sender, header), {
    fields: [...challenges(ofToken, sender), CHALLENGE, ofKeys],
  });
}

/** For an API key whose line does not meet the route's requirements. What it lacks is only logged: no client can ask for more. */
export function insufficientKey(): GatewayError {
  return refusal(403, 'This API key may not be used here.');
}

export function twoCredentials(): GatewayError {
  return refusal(400, 'Bad request: it has an access token and an API key. Send one of them.');
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
  const scheme = usesDpop ? 'DPoP' : 'Bearer';
  const cause = `the token lacks ${shortfall} that the route requires: ${demandedOf(requirement)[shortfall]}`;
  if (shortfall !== 'scopes') return refusal(403, 'This caller has no right to what is here.', { cause });
  const fields = [CHALLENGE, `${scheme} error="insufficient_scope", scope="${scopes}"`];
  return refusal(403, `The access token needs these scopes here: ${scopes}.`, { fields, cause });
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
  return refusal(
    400,
    'The access tokens of this session are refused from now on. The refresh token is still valid: this gateway does not sign users in at its provider, so revoke it there.',
  );
}

/** For a token whose signing keys cannot be fetched from the issuer at the moment. */
export function keysUnreachable(retryAfterMs: number): GatewayError {
  return refusal(503, 'The token cannot be checked at the moment. Try again shortly.', {
    side: 'provider',
    fields: retryAfterField(retryAfterMs),
  });
}

/** For a request while Redis is unreachable and `on_failure` is `closed`. */
export function storeUnreachable(retryAfterMs: number): GatewayError {
  return refusal(503, 'Limits cannot be checked at the moment. Try again shortly.', {
    side: 'store',
    fields: retryAfterField(retryAfterMs),
  });
}

export function clientTooSlow(): GatewayError {
  return refusal(408, 'The request did not arrive in time.', { close: true });
}

export function bodyTooSlow(): GatewayError {
  return refusal(408, 'The request body arrived too slowly.', { close: true });
}

export function bodyTooLarge(): GatewayError {
  return refusal(413, 'The request body is larger than this route accepts.', { close: true });
}

export function expectationNotMet(): GatewayError {
  return refusal(417, 'The only expectation supported is 100-continue.', { close: true });
}

export function headTooLarge(): GatewayError {
  return refusal(431, 'The header section is too large (caps.head) or has too many fields (caps.fields).', {
    close: true,
  });
}

/** @param isHttp2 whether the client speaks HTTP/2 on a connection that is served as HTTP/1.1 */
export function versionNotSupported(isHttp2: boolean): GatewayError {
  const message = isHttp2
    ? 'This connection speaks HTTP/1.1 and HTTP/1.0, not HTTP/2.'
    : 'No request line can ask for this version of HTTP: send HTTP/1.1 or HTTP/1.0.';
  return refusal(505, message, { close: true });
}

export function noRoute(): GatewayError {
  return refusal(404, 'There is nothing at this path.');
}

/** For an upgrade on a route that serves no WebSockets. */
export function upgradeNotServed(): GatewayError {
  return refusal(501, 'There are no WebSockets at this path.');
}

/** For another version of WebSocket. Names the supported one (RFC 6455, 4.4; RFC 9110, 15.5.22). */
export function otherVersion(): GatewayError {
  return refusal(426, 'The only version of WebSocket supported is 13.', {
    fields: ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Version', '13'],
  });
}

/** For a WebSocket opened by a page of an origin that `cors` does not list. */
export function foreignOrigin(): GatewayError {
  return refusal(403, 'Pages of this origin may not open WebSockets here.');
}

/** For a client outside the networks of the route. */
export function foreignNetwork(): GatewayError {
  return refusal(403, 'This address may not use what is here.');
}

export function internalFault(cause: unknown): GatewayError {
  return refusal(500, 'The gateway failed to handle this request.', { side: 'gateway', close: true, cause });
}

export function upstreamFailed(cause: unknown): GatewayError {
  return isOwnLack(cause)
    ? refusal(502, 'The gateway could not open a connection to the service behind it.', {
        side: 'gateway',
        cause,
      })
    : refusal(502, 'The service behind the gateway failed to answer.', { side: 'upstream', cause });
}

export function upstreamTooSlow(cause: unknown): GatewayError {
  return refusal(504, 'The service behind the gateway did not answer in time.', { side: 'upstream', cause });
}

const RETRY_SOON: Fields = retryAfterField(1_000);

/** For a request beyond one of the gateway's caps. */
export function overloaded(cap: Cap): GatewayError {
  return refusal(503, 'Too many requests are in flight. Try again shortly.', {
    side: 'gateway',
    fields: RETRY_SOON,
    cap,
  });
}

/** For a request while the process is too overloaded to serve it in time. */
export function fallenBehind(): GatewayError {
  return refusal(503, 'The gateway is overloaded. Try again shortly.', {
    side: 'gateway',
    fields: RETRY_SOON,
    cap: 'event_loop_delay',
  });
}

/** For a request to an upstream that is at its cap for this kind. */
export function poolFull(pool: PoolName): GatewayError {
  return refusal(503, `Too many ${IN_FLIGHT[pool]}. Try again shortly.`, {
    side: 'gateway',
    fields: RETRY_SOON,
    cap: `max_${pool}`,
  });
}

/** For a caller that has used up its share of an upstream that still has room. */
export function shareTaken(pool: PoolName): GatewayError {
  return refusal(
    503,
    `Too many of your ${IN_FLIGHT[pool]} to this service (max_${pool}_per_caller). Try again shortly.`,
    { fields: RETRY_SOON, cap: `max_${pool}_per_caller` },
  );
}

/** What messages call the requests in flight. */
const IN_FLIGHT: Readonly<Record<PoolName, string>> = {
  requests: 'requests are in flight',
  websockets: 'WebSockets are open',
  grpc_calls: 'gRPC calls are in flight',
};

/** For a request that is not a gRPC call, on a listener for gRPC only. */
export function notGrpc(): GatewayError {
  return refusal(415, 'This listener serves gRPC alone: POST with content-type application/grpc.');
}

/** For a gRPC-Web call to a route for plain gRPC only. */
export function notGrpcWeb(): GatewayError {
  return refusal(
    415,
    'This service is not served over gRPC-Web: call it with content-type application/grpc.',
  );
}

/** For a gRPC call over HTTP/1.1, as from a proxy that speaks nothing else to its servers. */
export function grpcNeedsHttp2(): GatewayError {
  return refusal(415, 'This service is called over HTTP/2 alone, and this call of gRPC came over HTTP/1.1.');
}

export function deadlineExceeded(): GatewayError {
  return refusal(504, 'The deadline of the call passed before the service behind the gateway had finished.');
}

/** For a call with a malformed deadline or body. The connection can be kept. */
export function badCall(why: string): GatewayError {
  return refusal(400, `Bad request: ${why}.`);
}

/** The statuses of calls that a service resets, by reset code (gRPC over HTTP/2, "HTTP2 Transport Mapping", "Errors"). */
const STATUSES_OF_RESETS: ReadonlyMap<number, RpcCode> = new Map<number, RpcCode>([
  [ErrorCode.CANCEL, RpcCode.cancelled],
  [ErrorCode.ENHANCE_YOUR_CALM, RpcCode.resourceExhausted],
  [ErrorCode.INADEQUATE_SECURITY, RpcCode.permissionDenied],
]);

/** For a call that the service reset with this code before it had a status. */
export function callReset(code: number, cause: unknown): GatewayError {
  return refusal(502, `The service behind the gateway broke off the call (RST_STREAM, ${errorName(code)}).`, {
    rpcCode: STATUSES_OF_RESETS.get(code) ?? RpcCode.internal,
    side: 'upstream',
    cause,
  });
}

/** What a non-gRPC response means to a call (https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md). */
const STATUSES_OF_HTTP: ReadonlyMap<number, RpcCode> = new Map([
  [400, RpcCode.internal],
  [401, RpcCode.unauthenticated],
  [403, RpcCode.permissionDenied],
  [404, RpcCode.unimplemented],
  [429, RpcCode.unavailable],
  [502, RpcCode.unavailable],
  [503, RpcCode.unavailable],
  [504, RpcCode.unavailable],
]);

/** For a call that got a response other than gRPC, from the service or something in front of it. */
export function answeredWithoutGrpc(status: number): GatewayError {
  return refusal(502, `The service behind the gateway did not answer with gRPC but with HTTP ${status}.`, {
    rpcCode: STATUSES_OF_HTTP.get(status) ?? RpcCode.unknown,
    side: 'upstream',
    cause: `the response is not gRPC: status ${status}`,
  });
}
