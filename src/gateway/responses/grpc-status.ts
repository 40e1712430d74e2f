import { type Fields, firstValue, type GatewayError, RpcCode } from '../../core/index.ts';
import { RateLimitError } from './rate-limit-error.ts';
import { retryInfo, rpcStatus } from './rpc-status.ts';

/** Where a call's status differs from the code of the error object, by HTTP status. */
const CODES: ReadonlyMap<number, RpcCode> = new Map([
  // To a gRPC client, NOT_FOUND means that the method exists but did not find something.
  [404, RpcCode.unimplemented],
  [405, RpcCode.unimplemented],
  // What every gRPC implementation returns for a message that is too large.
  [413, RpcCode.resourceExhausted],
  [431, RpcCode.resourceExhausted],
]);

/**
 * The fields that end a call with this error (gRPC over HTTP/2, "Responses"). `google.rpc.RetryInfo`, which libraries understand,
 * says when to try again, in addition to `Retry-After`.
 */
export function grpcStatusFields(error: GatewayError): string[] {
  const code = grpcCodeOf(error);
  const fields = ['grpc-status', String(code), 'grpc-message', percentEncode(error.message)];
  const retryAfterMs = retryAfterOf(error);
  if (retryAfterMs !== null) {
    const status = rpcStatus(code, error.message, [retryInfo(retryAfterMs)]);
    fields.push('grpc-status-details-bin', status.toString('base64'));
  }
  return fields;
}

/** The status of a call that ends with this error. */
export function grpcCodeOf({ status, rpcCode }: GatewayError): RpcCode {
  return CODES.get(status) ?? rpcCode;
}

/**
 * The gRPC status in the last fields of a response, or null. Treats a number that gRPC does not define as UNKNOWN, as
 * clients do.
 */
export function grpcStatusIn(fields: Fields): RpcCode | null {
  const text = firstValue(fields, 'grpc-status');
  if (text === undefined) return null;
  return DEFINED.find(code => String(code) === text) ?? RpcCode.unknown;
}

const DEFINED = Object.values(RpcCode);

/** The equivalent HTTP status; 200 for codes that no counter of the gateway cares about. */
export function httpStatusOf(code: RpcCode): number {
  return HTTP_STATUS.get(code) ?? 200;
}

/** docs/contract.md, 5.1 and 4.4. */
const HTTP_STATUS: ReadonlyMap<RpcCode, number> = new Map([
  [RpcCode.notFound, 404],
  [RpcCode.permissionDenied, 403],
  [RpcCode.resourceExhausted, 429],
  [RpcCode.unauthenticated, 401],
]);

function retryAfterOf(error: GatewayError): number | null {
  if (error instanceof RateLimitError) return error.retryAfterMs;
  const seconds = firstValue(error.fields, 'retry-after');
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** gRPC over HTTP/2, "Percent-Byte-Unencoded": escapes "%" and every byte of the UTF-8 that is not printable ASCII. */
function percentEncode(message: string): string {
  return Buffer.from(message)
    .toString('latin1')
    .replace(/[^ -$&-~]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
