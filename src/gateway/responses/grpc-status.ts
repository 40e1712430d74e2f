import { type Fields, firstValue, type GatewayError, RpcCode } from '../../core/index.ts';
import { RateLimitError } from './rate-limit-error.ts';
import { retryInfo, rpcStatus } from './rpc-status.ts';

/** Where the code of an error object and the status of a call differ, by the status of HTTP that an error stands for. */
const CODES: ReadonlyMap<number, RpcCode> = new Map([
  // To a client of gRPC NOT_FOUND says that a method looked for something in vain; there is no method here.
  [404, RpcCode.unimplemented],
  [405, RpcCode.unimplemented],
  // As every implementation says of a message that is too large.
  [413, RpcCode.resourceExhausted],
  [431, RpcCode.resourceExhausted],
]);

/**
 * The fields by which a call ends with this error (gRPC over HTTP/2, "Responses"). A client that should try again later is
 * told when by `google.rpc.RetryInfo`, which libraries know, beside `Retry-After`.
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
 * The status in the fields that end a response; null: there is none. A number that gRPC does not define is UNKNOWN, as clients
 * take it.
 */
export function grpcStatusIn(fields: Fields): RpcCode | null {
  const text = firstValue(fields, 'grpc-status');
  if (text === undefined) return null;
  return DEFINED.find(code => String(code) === text) ?? RpcCode.unknown;
}

const DEFINED = Object.values(RpcCode);

/** A status of HTTP that says the same; of codes that mean nothing to the counters of the gateway 200. */
export function httpStatusOf(code: RpcCode): number {
  return HTTP_STATUS.get(code) ?? 200;
}

/** As docs/contract.md, 5.1 and 4.4 read them. */
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

/** gRPC over HTTP/2, "Percent-Byte-Unencoded": UTF-8, of which all but printable ASCII is escaped, and "%" with it. */
function percentEncode(message: string): string {
  return Buffer.from(message)
    .toString('latin1')
    .replace(/[^ -$&-~]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
