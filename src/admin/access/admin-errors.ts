import { GatewayError, RpcCode, wholeSeconds } from '../../core/index.ts';

const CHALLENGE = ['WWW-Authenticate', 'Bearer'] as const;

export function tokenNeeded(): GatewayError {
  return new GatewayError({
    status: 401,
    rpcCode: RpcCode.unauthenticated,
    side: 'client',
    message: 'Send the token of listen.admin.token_file as "Authorization: Bearer TOKEN".',
    fields: CHALLENGE,
  });
}

export function wrongToken(): GatewayError {
  return new GatewayError({
    status: 401,
    rpcCode: RpcCode.unauthenticated,
    side: 'client',
    message: 'The token is not that of listen.admin.token_file.',
    fields: CHALLENGE,
  });
}

export function tooManyTokens(waitMs: number): GatewayError {
  return new GatewayError({
    status: 429,
    rpcCode: RpcCode.resourceExhausted,
    side: 'client',
    message: 'Your address sent too many wrong tokens. Wait before you try another one.',
    fields: ['Retry-After', String(wholeSeconds(waitMs))],
  });
}

export function noTokenConfigured(): GatewayError {
  return new GatewayError({
    status: 403,
    rpcCode: RpcCode.permissionDenied,
    side: 'client',
    message: 'This needs a token, and none is configured: name a file with one in listen.admin.token_file.',
  });
}

export function foreignPage(): GatewayError {
  return new GatewayError({
    status: 403,
    rpcCode: RpcCode.permissionDenied,
    side: 'client',
    message: 'A page of another origin may not use this.',
  });
}

export function foreignHost(): GatewayError {
  return new GatewayError({
    status: 403,
    rpcCode: RpcCode.permissionDenied,
    side: 'client',
    message: 'Without a token, use localhost, 127.0.0.1 or [::1] in the URL.',
  });
}
