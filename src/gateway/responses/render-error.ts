import {
  asciiJson,
  type Fields,
  firstValue,
  type GatewayError,
  RpcCode,
  STATUS_CODES,
} from '../../core/index.ts';
import { trailersOnly } from '../../wire/grpc-web/index.ts';
import { CHALLENGE } from './challenges.ts';
import { RateLimitError } from './rate-limit-error.ts';

/** A response made by the gateway, without the fields common to all responses. */
export interface RenderedResponse {
  readonly status: number;
  readonly reason: string;
  readonly fields: string[];
  /** The body, in ASCII. */
  readonly body: string;
  readonly close: boolean;
}

/**
 * Renders the error object (docs/contract.md, 7.1) or the rate-limit body, which at an anonymous endpoint is an error object as
 * well.
 */
export function renderError(error: GatewayError, anonymous = false): RenderedResponse {
  const body = bodyOf(error, anonymous);
  const fields = jsonFields(body, error.fields);
  return { status: error.status, reason: STATUS_CODES[error.status] ?? '', fields, body, close: error.close };
}

function bodyOf(error: GatewayError, anonymous: boolean): string {
  if (!(error instanceof RateLimitError)) return errorObject(error);
  return anonymous ? error.errorObject : error.body;
}

/**
 * Renders an error as the end of a gRPC call: a trailers-only response, to HTTP one without a body. The HTTP status is always
 * 200, since it only says that gRPC is spoken.
 */
export function renderGrpcError(error: GatewayError): RenderedResponse {
  const fields = ['Content-Type', 'application/grpc', ...grpcStatusFields(error), ...error.fields];
  return { status: 200, reason: '', fields, body: '', close: error.close };
}

/**
 * Renders an error as the end of a gRPC-Web call, whose trailers are the body. The head has the rate-limit fields that scripts
 * read.
 */
export function renderGrpcWebError(error: GatewayError, isText: boolean): RenderedResponse {
  const { contentType, body } = trailersOnly(grpcStatusFields(error), isText);
  const fields = ['Content-Type', contentType, 'Content-Length', String(body.length), ...error.fields];
  return { status: 200, reason: 'OK', fields, body, close: error.close };
}

/**
 * Whether an error response reports the state of the request's bucket: yes for refusals by the bucket and errors after admission;
 * no for other refusals, which consumed no bucket.
 */
export function reportsRate(error: GatewayError): boolean {
  if (error instanceof RateLimitError) return error.scope !== 'global' && error.restrictedBy === null;
  return error.status !== 401 && error.status !== 404 && error.status !== 503;
}

/** Adds to each challenge for tokens the URL where clients learn whose tokens are accepted (RFC 9728, 5.1). */
export function nameResource(fields: string[], url: string): void {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const challenge = fields[i + 1] as string;
    if (fields[i] !== CHALLENGE || !/^(?:Bearer|DPoP)\b/.test(challenge)) continue;
    // A challenge without parameters is only the scheme.
    const separator = challenge.includes(' ') ? ', ' : ' ';
    fields[i + 1] = `${challenge}${separator}resource_metadata="${url}"`;
  }
}

/** Exactly `application/json`: clients of this header family compare for equality. */
function jsonFields(body: string, more: Fields): string[] {
  return ['Content-Type', 'application/json', 'Content-Length', String(body.length), ...more];
}

function errorObject({ rpcCode, message, details }: GatewayError): string {
  return asciiJson({ code: rpcCode, message, details });
}

/** gRPC statuses by HTTP status, where they differ from the code of the error object. */
const CODES: ReadonlyMap<number, RpcCode> = new Map([
  // To a gRPC client, NOT_FOUND means that the method exists but did not find something.
  [404, RpcCode.unimplemented],
  [405, RpcCode.unimplemented],
  // All gRPC implementations return this for a message that is too large.
  [413, RpcCode.resourceExhausted],
  [431, RpcCode.resourceExhausted],
]);

/**
 * The fields that end a call with this error (gRPC over HTTP/2, "Responses"). `google.rpc.RetryInfo`, which libraries understand,
 * says when to try again, as does `Retry-After`.
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

export function grpcCodeOf({ status, rpcCode }: GatewayError): RpcCode {
  return CODES.get(status) ?? rpcCode;
}

/** The gRPC status in a response's trailers, or null. Treats numbers unknown to gRPC as UNKNOWN, as clients do. */
export function grpcStatusIn(fields: Fields): RpcCode | null {
  const text = firstValue(fields, 'grpc-status');
  if (text === undefined) return null;
  return DEFINED.find(code => String(code) === text) ?? RpcCode.unknown;
}

const DEFINED = Object.values(RpcCode);

/** The equivalent HTTP status; 200 for codes that nothing in the gateway counts. */
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

/** `google.rpc.Status`: https://github.com/googleapis/googleapis/blob/master/google/rpc/status.proto */
function rpcStatus(code: RpcCode, message: string, details: readonly Buffer[]): Buffer {
  return Buffer.concat([
    varintField(1, code),
    bytesField(2, Buffer.from(message)),
    ...details.map(detail => bytesField(3, detail)),
  ]);
}

/** `google.rpc.RetryInfo` as `google.protobuf.Any`; its `retry_delay` is a `google.protobuf.Duration`. */
function retryInfo(delayMs: number): Buffer {
  const seconds = Math.floor(delayMs / 1_000);
  const nanos = (delayMs - seconds * 1_000) * 1_000_000;
  const delay = Buffer.concat([varintField(1, seconds), varintField(2, nanos)]);
  return Buffer.concat([
    bytesField(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo')),
    bytesField(2, bytesField(1, delay)),
  ]);
}

// The wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding/. Two kinds of fields are enough here.

function varintField(number: number, value: number): Buffer {
  return Buffer.from([...varint(number << 3), ...varint(value)]);
}

function bytesField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes]);
}

/** A whole number from 0 to 2^31 - 1. */
function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
