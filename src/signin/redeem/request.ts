import { type ErrorDetail, GatewayError, RpcCode } from '../../core/index.ts';

/** Largest body of a sign-in request, in bytes. */
export const MAX_REQUEST_BYTES = 65_536;

/** A client's request to redeem a code. The strings are exactly those of the JSON. */
export interface RedeemRequest {
  readonly code: string;
  readonly redirectUri: string;
  /** For a client that put a `code_challenge` of its own into the authorization URL (RFC 7636). */
  readonly codeVerifier: string | undefined;
}

interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** RFC 7636, 4.1. */
const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;

/**
 * Reads a request's body. Ignores unknown members, takes the last of duplicates, and allows a `codeVerifier` of null.
 *
 * Safe on hostile input: the size is bounded, and `JSON.parse` neither recurses nor gives `__proto__` a meaning.
 */
export function readRequest(body: Buffer): RedeemRequest | GatewayError {
  if (body.length > MAX_REQUEST_BYTES) return tooLarge();
  const members = jsonObject(body);
  if (members === undefined)
    return wrongBody([{ field: 'body', description: 'must be a JSON object in UTF-8' }]);

  const code = members.get('code');
  const redirectUri = members.get('redirectUri');
  const codeVerifier = members.get('codeVerifier') ?? undefined;
  if (isText(code) && isText(redirectUri) && isVerifier(codeVerifier))
    return { code, redirectUri, codeVerifier };

  const violations: FieldViolation[] = [];
  const text = 'must be a non-empty string of whole Unicode characters';
  if (!isText(code)) violations.push({ field: 'code', description: text });
  if (!isText(redirectUri)) violations.push({ field: 'redirectUri', description: text });
  if (!isVerifier(codeVerifier)) {
    violations.push({
      field: 'codeVerifier',
      description: 'must be 43 to 128 of the characters A-Z a-z 0-9 - . _ ~',
    });
  }
  return wrongBody(violations);
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

/** The refusal of a redirect URI that is not on the allow list. */
export function redirectRefusal(): GatewayError {
  return wrongBody([
    { field: 'redirectUri', description: 'is not among the redirect URIs that this service allows' },
  ]);
}

function jsonObject(body: Buffer): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return new Map(Object.entries(value));
  } catch {
    return undefined;
  }
}

/** Rejects lone surrogates: they have no UTF-8 form, so they could not reach the provider unchanged. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed();
}

function isVerifier(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && CODE_VERIFIER.test(value));
}

function wrongBody(fieldViolations: readonly FieldViolation[]): GatewayError {
  const detail: ErrorDetail = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations };
  return new GatewayError({
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `The request body is wrong: ${fieldViolations.map(({ field }) => field).join(', ')}. See details.`,
    details: [detail],
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
