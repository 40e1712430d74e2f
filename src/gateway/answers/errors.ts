import type { Invalid } from '../../auth/index.ts';
import { type Cap, type Fields, GatewayError, RpcCode } from '../../core/index.ts';

/**
 * Every answer that the gateway makes by itself, in one table. Messages are ASCII, never repeat what the client sent,
 * and say what would help where something would.
 */
const RETRY_SOON: Fields = ['Retry-After', '1'];
/** What is left of the methods when those that no resource has here are taken out. */
export const USUAL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const CHALLENGE: Fields = ['WWW-Authenticate', 'Bearer'];
const INVALID_TOKEN: Fields = ['WWW-Authenticate', 'Bearer error="invalid_token"'];

/** The request cannot be read in one way only, so the connection cannot be trusted from here on. */
export function badRequest(why: string): GatewayError {
  return new GatewayError({
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `Bad request: ${why}.`,
    close: true,
  });
}

export function methodNotSupported(): GatewayError {
  return new GatewayError({
    status: 405,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'This method is not supported here.',
    fields: ['Allow', USUAL_METHODS.join(', ')],
    close: true,
  });
}

/** The path is there, for other methods. */
export function wrongMethod(allow: string): GatewayError {
  return new GatewayError({
    status: 405,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `Use ${allow} here.`,
    fields: ['Allow', allow],
  });
}

/**
 * No token that counts, where one is required. RFC 6750, 3.1: a client that sent a token is told that it is not valid, and
 * one that sent none, or another scheme, is told no error. Why it is not valid only the log says.
 */
export function unauthenticated(refused: Invalid | null): GatewayError {
  const sentNone = refused === null || refused.reason === 'scheme' || refused.reason === 'credentials';
  return new GatewayError({
    status: 401,
    rpcCode: RpcCode.unauthenticated,
    side: 'client',
    message: 'A valid access token is required: Authorization: Bearer <token>.',
    fields: sentNone ? CHALLENGE : INVALID_TOKEN,
  });
}

/** The issuer's keys cannot be had, and the token may be signed by one of them. */
export function keysUnreachable(retryAfterS: number): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message: 'The token cannot be checked at the moment. Try again shortly.',
    fields: ['Retry-After', String(retryAfterS)],
  });
}

/** Limits cannot be asked for, and the operator wants no request to pass without them. */
export function storeUnreachable(retryAfterMs: number): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'store',
    message: 'Limits cannot be checked at the moment. Try again shortly.',
    fields: ['Retry-After', String(Math.ceil(retryAfterMs / 1_000))],
  });
}

export function clientTooSlow(): GatewayError {
  return new GatewayError({
    status: 408,
    rpcCode: RpcCode.deadlineExceeded,
    side: 'client',
    message: 'The request did not arrive in time.',
    close: true,
  });
}

export function bodyTooSlow(): GatewayError {
  return new GatewayError({
    status: 408,
    rpcCode: RpcCode.deadlineExceeded,
    side: 'client',
    message: 'The request body arrived too slowly.',
    close: true,
  });
}

export function bodyTooLarge(): GatewayError {
  return new GatewayError({
    status: 413,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'The request body is larger than this route accepts.',
    close: true,
  });
}

export function expectationNotMet(): GatewayError {
  return new GatewayError({
    status: 417,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'The only expectation supported is 100-continue.',
    close: true,
  });
}

export function headTooLarge(): GatewayError {
  return new GatewayError({
    status: 431,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'The header section is too large or has too many fields.',
    close: true,
  });
}

export function versionNotSupported(): GatewayError {
  return new GatewayError({
    status: 505,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'This listener speaks HTTP/1.1 and HTTP/1.0, not HTTP/2.',
    close: true,
  });
}

export function noRoute(): GatewayError {
  return new GatewayError({
    status: 404,
    rpcCode: RpcCode.notFound,
    side: 'client',
    message: 'There is nothing at this path.',
  });
}

export function internalFault(cause: unknown): GatewayError {
  return new GatewayError({
    status: 500,
    rpcCode: RpcCode.internal,
    side: 'gateway',
    message: 'The gateway failed to handle this request.',
    close: true,
    cause,
  });
}

/** Too much is in flight: this cap is met. */
export function overloaded(cap: Cap): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'gateway',
    message: 'Too many requests are in flight. Try again shortly.',
    fields: RETRY_SOON,
    cap,
  });
}

/** One caller has as much in flight to an upstream as it may: others have room. */
export function shareTaken(): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'client',
    message: 'Too many of your requests are in flight to this service. Try again shortly.',
    fields: RETRY_SOON,
    cap: 'max_requests_per_caller',
  });
}

export function upstreamFailed(cause: unknown): GatewayError {
  return new GatewayError({
    status: 502,
    rpcCode: RpcCode.unavailable,
    side: 'upstream',
    message: 'The service behind the gateway failed to answer.',
    cause,
  });
}

export function upstreamTooSlow(cause: unknown): GatewayError {
  return new GatewayError({
    status: 504,
    rpcCode: RpcCode.deadlineExceeded,
    side: 'upstream',
    message: 'The service behind the gateway did not answer in time.',
    cause,
  });
}
