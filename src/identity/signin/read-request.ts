import { isUtf8 } from 'node:buffer';
import { type ErrorDetail, GatewayError, type GrantKind } from '../../core/index.ts';
import { jsonMembers } from './ask-provider.ts';

/** A client's request to redeem a code. The strings are exactly those in the JSON. */
interface RedeemRequest {
  readonly code: string;
  readonly redirectUri: string;
  /** The verifier, if the client added its own `code_challenge` to the authorization URL (RFC 7636). */
  readonly codeVerifier: string | undefined;
}

/** The syntax of RFC 7636, 4.1. */
const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;

/** Reads a request's body. Ignores unknown members and allows a `codeVerifier` of null. */
export function readRequest(body: Buffer): RedeemRequest | GatewayError {
  const members = readMembers(body);
  if (members instanceof GatewayError) return members;
  const code = members.get('code');
  const redirectUri = members.get('redirectUri');
  const codeVerifier = members.get('codeVerifier') ?? undefined;
  if (isText(code) && isText(redirectUri) && isVerifier(codeVerifier))
    return { code, redirectUri, codeVerifier };

  const violations: FieldViolation[] = [];
  if (!isText(code)) violations.push({ field: 'code', description: TEXT_EXPECTED });
  if (!isText(redirectUri)) violations.push({ field: 'redirectUri', description: TEXT_EXPECTED });
  if (!isVerifier(codeVerifier)) {
    violations.push({
      field: 'codeVerifier',
      description: 'must be 43 to 128 of the characters A-Z a-z 0-9 - . _ ~',
    });
  }
  return wrongBody(violations);
}

/** Reads the refresh token from a request's body. Ignores unknown members. */
export function readRefreshToken(body: Buffer): string | GatewayError {
  const members = readMembers(body);
  if (members instanceof GatewayError) return members;
  const refreshToken = members.get('refreshToken');
  return isText(refreshToken)
    ? refreshToken
    : wrongBody([{ field: 'refreshToken', description: TEXT_EXPECTED }]);
}

/** The refusal of a redirect URI that is not on the allow list. */
export function redirectRefusal(): GatewayError {
  return wrongBody([
    { field: 'redirectUri', description: 'is not among the redirect URIs that this service allows' },
  ]);
}

function isVerifier(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && CODE_VERIFIER.test(value));
}

/** A code or a refresh token, to be exchanged for tokens. */
export interface Grant {
  readonly kind: GrantKind;
  /** The parameters of the token request other than `grant_type`. Every value is a secret. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The values of `grant_type` (RFC 6749, 4.1.3 and 6). */
export const GRANT_TYPES: Readonly<Record<GrantKind, string>> = {
  code: 'authorization_code',
  refresh_token: 'refresh_token',
};

export function codeGrant({ code, redirectUri, codeVerifier }: RedeemRequest): Grant {
  const verifier = codeVerifier === undefined ? undefined : { code_verifier: codeVerifier };
  return { kind: 'code', parameters: { code, redirect_uri: redirectUri, ...verifier } };
}

/** Makes the request for new tokens. Sends no `scope`, so the provider grants the original one again (RFC 6749, 6). */
export function refreshGrant(refreshToken: string): Grant {
  return { kind: 'refresh_token', parameters: { refresh_token: refreshToken } };
}

/** Largest body of a request to the sign-in endpoints, in bytes. */
export const MAX_REQUEST_BYTES = 65_536;

/** A member of the body, and what is wrong with it. */
interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** The message about `isText`. */
const TEXT_EXPECTED = 'must be a non-empty string of whole Unicode characters';

/**
 * The members of a body, or its refusal. The last of duplicate members counts.
 *
 * Safe for hostile input: the size is bounded, and `JSON.parse` neither recurses nor gives `__proto__` a meaning.
 */
function readMembers(body: Buffer): ReadonlyMap<string, unknown> | GatewayError {
  if (body.length > MAX_REQUEST_BYTES)
    return new GatewayError({
      status: 413,
      message: `The request body must not exceed ${MAX_REQUEST_BYTES} bytes.`,
    });
  const members = isUtf8(body) ? jsonMembers(body) : undefined;
  return members ?? wrongBody([{ field: 'body', description: 'must be a JSON object in UTF-8' }]);
}

/** Rejects lone surrogates: they have no UTF-8 form, so they could not reach the provider unchanged. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed();
}

function wrongBody(fieldViolations: readonly FieldViolation[]): GatewayError {
  const detail: ErrorDetail = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations };
  return new GatewayError({
    status: 400,
    message: `The request body is wrong: ${fieldViolations.map(({ field }) => field).join(', ')}. See details.`,
    details: [detail],
  });
}

/** The refusal of a media type that is not JSON, or undefined. Without `Content-Type` the body decides. */
export function mediaTypeRefusal(contentType: string | undefined): GatewayError | undefined {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '' || type === 'application/json') return undefined;
  return new GatewayError({ status: 415, message: 'Send the body as application/json.' });
}
