import { constants } from 'node:http2';
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

/** The deadline of a call is malformed. The connection can be kept. */
export function badDeadline(why: string): GatewayError {
  return new GatewayError({
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `Bad request: ${why}.`,
  });
}

/** The statuses of calls that a service resets (gRPC over HTTP/2, "HTTP2 Transport Mapping", "Errors"). */
const STATUSES_OF_RESETS: ReadonlyMap<number, readonly [name: string, code: RpcCode]> = new Map([
  [constants.NGHTTP2_CANCEL, ['CANCEL', RpcCode.cancelled]],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, ['ENHANCE_YOUR_CALM', RpcCode.resourceExhausted]],
  [constants.NGHTTP2_INADEQUATE_SECURITY, ['INADEQUATE_SECURITY', RpcCode.permissionDenied]],
]);

/** The service has ended a call by RST_STREAM with this code, before it had a status. */
export function callReset(code: number, cause: unknown): GatewayError {
  const [name, rpcCode] = STATUSES_OF_RESETS.get(code) ?? [`code ${code}`, RpcCode.internal];
  return new GatewayError({
    status: 502,
    rpcCode,
    side: 'upstream',
    message: `The service behind the gateway broke off the call (RST_STREAM, ${name}).`,
    cause,
  });
}
