import { GatewayError, RpcCode } from '../../core/index.ts';

export function badRequest(message: string): GatewayError {
  return new GatewayError({ status: 400, rpcCode: RpcCode.invalidArgument, side: 'client', message });
}

export function notFound(message: string): GatewayError {
  return new GatewayError({ status: 404, rpcCode: RpcCode.notFound, side: 'client', message });
}

export function conflict(message: string): GatewayError {
  return new GatewayError({ status: 409, rpcCode: RpcCode.failedPrecondition, side: 'client', message });
}

export function unavailable(message: string): GatewayError {
  return new GatewayError({ status: 503, rpcCode: RpcCode.unavailable, side: 'gateway', message });
}

export function wrongMethod(allowed: readonly string[]): GatewayError {
  return new GatewayError({
    status: 405,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `Use ${allowed.join(' or ')}.`,
    fields: ['Allow', allowed.join(', ')],
  });
}

export function notJson(): GatewayError {
  return new GatewayError({
    status: 415,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'Send JSON, with "Content-Type: application/json".',
  });
}

export function bodyTooLarge(): GatewayError {
  return new GatewayError({
    status: 413,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'The body is larger than anything that this takes.',
    close: true,
  });
}
