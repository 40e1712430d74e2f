import { GatewayError, RpcCode } from '../../core/index.ts';

/** A listener for calls of gRPC got something else. */
export function notGrpc(): GatewayError {
  return new GatewayError({
    status: 415,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'This listener serves gRPC alone: POST with content-type application/grpc.',
  });
}

/** The time that its client gave a call is over. */
export function deadlineExceeded(): GatewayError {
  return new GatewayError({
    status: 504,
    rpcCode: RpcCode.deadlineExceeded,
    side: 'client',
    message: 'The deadline of the call passed before the service behind the gateway had finished.',
  });
}

/** The deadline of a call cannot be read. The connection is in order. */
export function badDeadline(why: string): GatewayError {
  return new GatewayError({
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `Bad request: ${why}.`,
  });
}
