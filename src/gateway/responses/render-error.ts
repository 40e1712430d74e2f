import { STATUS_CODES } from 'node:http';
import type { Fields, GatewayError } from '../../core/index.ts';
import { grpcStatusFields } from './grpc-status.ts';
import { RateLimitError } from './rate-limit-error.ts';

/** A response made by the gateway, without the fields that every response carries. */
export interface RenderedResponse {
  readonly status: number;
  readonly reason: string;
  readonly fields: string[];
  /** The body, in ASCII. */
  readonly body: string;
  readonly close: boolean;
}

/**
 * Renders the error object (docs/contract.md, 7.1) or the rate-limit body, which on an anonymous endpoint is an error object as
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
 * Renders an error as the end of a gRPC call: trailers alone, which HTTP calls a response without a body. The HTTP status is 200
 * whatever the error, since it says only that gRPC is spoken.
 */
export function renderGrpcError(error: GatewayError): RenderedResponse {
  const fields = ['Content-Type', 'application/grpc', ...grpcStatusFields(error), ...error.fields];
  return { status: 200, reason: '', fields, body: '', close: error.close };
}

/**
 * Whether an error response reports the state of the request's bucket: yes for the bucket's own refusal and for errors after the
 * request was admitted, no for other refusals, which consumed no bucket.
 */
export function reportsRate(error: GatewayError): boolean {
  if (error instanceof RateLimitError) return error.scope !== 'global' && error.restrictedBy === null;
  return error.status !== 401 && error.status !== 404 && error.status !== 503;
}

/** Exactly `application/json`: clients of this header family compare for equality. */
function jsonFields(body: string, more: Fields): string[] {
  return ['Content-Type', 'application/json', 'Content-Length', String(body.length), ...more];
}

function errorObject({ rpcCode, message, details }: GatewayError): string {
  return asciiJson({ code: rpcCode, message, details });
}

/** JSON in ASCII, so that a character is a byte whatever encoding writes it. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
