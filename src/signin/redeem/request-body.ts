import { isUtf8 } from 'node:buffer';
import { type ErrorDetail, GatewayError, RpcCode } from '../../core/index.ts';
import { jsonMembers } from '../provider/index.ts';

/** Largest body of a request to the sign-in endpoints, in bytes. */
export const MAX_REQUEST_BYTES = 65_536;

/** A member of the body, and what is wrong with it. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** Describes what `isText` expects. */
export const TEXT_EXPECTED = 'must be a non-empty string of whole Unicode characters';

/**
 * The members of a body, or its refusal. The last of duplicate members counts.
 *
 * Safe on hostile input: the size is bounded, and `JSON.parse` neither recurses nor gives `__proto__` a meaning.
 */
export function readMembers(body: Buffer): ReadonlyMap<string, unknown> | GatewayError {
  if (body.length > MAX_REQUEST_BYTES) return tooLarge();
  const members = isUtf8(body) ? jsonMembers(body) : undefined;
  return members ?? wrongBody([{ field: 'body', description: 'must be a JSON object in UTF-8' }]);
}

/** Rejects lone surrogates: they have no UTF-8 form, so they could not reach the provider unchanged. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed();
}

export function wrongBody(fieldViolations: readonly FieldViolation[]): GatewayError {
  const detail: ErrorDetail = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations };
  return new GatewayError({
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `The request body is wrong: ${fieldViolations.map(({ field }) => field).join(', ')}. See details.`,
    details: [detail],
  });
}

/** The refusal of a media type that is not JSON, or undefined. Without `Content-Type` the body decides. */
export function mediaTypeRefusal(contentType: string | undefined): GatewayError | undefined {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '' || type === 'application/json') return undefined;
  return new GatewayError({
    status: 415,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: 'Send the body as application/json.',
  });
}

function tooLarge(): GatewayError {
  return new GatewayError({
    status: 413,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `The request body must not exceed ${MAX_REQUEST_BYTES} bytes.`,
  });
}
