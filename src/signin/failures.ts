import { type GatewayError, type GatewayErrorOptions, type RedeemOutcome, RpcCode } from '../core/index.ts';
import {
  jsonMembers,
  type OAuthError,
  oauthError,
  ProviderFault,
  type ProviderResponse,
} from './provider/index.ts';
import { redact } from './redact.ts';

/** How each kind of request to the provider can fail. */
export type ProviderFailure = Extract<
  RedeemOutcome,
  'gateway_refused' | 'not_ready' | 'overloaded' | 'unreachable' | 'timed_out' | 'broken' | 'fault'
>;

/** A failed operation: its name in the log and in metrics, and the client's error. */
export interface Failure<Outcome extends string> {
  readonly outcome: Outcome;
  readonly error: GatewayError;
}

/** A client's error without its message. */
export type ErrorKind = Omit<GatewayErrorOptions, 'message' | 'cause'>;

const UNAVAILABLE: ErrorKind = {
  status: 503,
  rpcCode: RpcCode.unavailable,
  side: 'provider',
  fields: ['Retry-After', '5'],
};
const GATEWAY_FAULT: ErrorKind = { status: 500, rpcCode: RpcCode.internal, side: 'gateway' };

/** The client's errors when a sign-in, a refresh or a sign-out fails. */
export const ERROR_KINDS: Readonly<Record<ProviderFailure, ErrorKind>> = {
  gateway_refused: GATEWAY_FAULT,
  not_ready: UNAVAILABLE,
  overloaded: { ...UNAVAILABLE, side: 'gateway', fields: ['Retry-After', '1'], cap: 'max_in_flight' },
  unreachable: UNAVAILABLE,
  timed_out: { status: 504, rpcCode: RpcCode.deadlineExceeded, side: 'provider' },
  broken: UNAVAILABLE,
  fault: GATEWAY_FAULT,
};

/**
 * Turns an error of `ProviderClient.ask` into an outcome, with a cause that is safe to log.
 *
 * @param doing what failed, for the log: "signing out"
 * @param grantRefused the outcome when the provider refuses the code or token in the request
 */
export function judge<Refused extends string>(
  error: unknown,
  doing: string,
  grantRefused: Refused,
): { readonly outcome: ProviderFailure | Refused; readonly cause: Error } {
  if (!(error instanceof ProviderFault))
    return { outcome: 'fault', cause: new Error(`${doing} failed in the gateway`) };
  const judgement = judgeFault(error);
  return { outcome: judgement === 'grant_refused' ? grantRefused : judgement, cause: error };
}

function judgeFault(fault: ProviderFault): ProviderFailure | 'grant_refused' {
  switch (fault.kind) {
    case 'unreachable':
    case 'timed_out':
      return fault.kind;
    case 'refused':
      return judgeResponse(fault.status ?? 0, fault.error);
    case 'reset':
    case 'too_large':
    case 'malformed':
    case 'nonsense':
      return 'broken';
  }
}

/** RFC 6749, 5.2. A status that means trouble or throttling counts more than the body. */
function judgeResponse(status: number, error: OAuthError | null): ProviderFailure | 'grant_refused' {
  if (status === 408 || status === 429 || status < 400 || status >= 500) return 'broken';
  switch (error) {
    // The client's code, redirect URI or refresh token. Google has its own error for the latter.
    case 'invalid_grant':
    case 'invalid_request':
    case 'redirect_uri_mismatch':
    case 'invalid_token':
    // The user must sign in again: Entra ID says this about codes issued before its rules changed.
    case 'interaction_required':
      return 'grant_refused';
    // Temporary (RFC 6749, 4.1.2.1 defines the first two for the authorization endpoint).
    case 'temporarily_unavailable':
    case 'server_error':
    case 'slow_down':
      return 'broken';
    case null:
      return judgeStatus(status);
    // The gateway as a client, or its kind of request, is refused.
    case 'invalid_client':
    case 'unauthorized_client':
    case 'unsupported_grant_type':
    case 'unsupported_token_type':
    case 'invalid_scope':
    case 'another':
      return 'gateway_refused';
  }
}

/** Judges a response without an OAuth error: it comes from a proxy on the way, or from the wrong address. */
function judgeStatus(status: number): ProviderFailure | 'grant_refused' {
  // Too long, and only what the client sent varies in length.
  if (status === 413 || status === 414 || status === 431) return 'grant_refused';
  return status === 401 || status === 403 ? 'gateway_refused' : 'broken';
}

/**
 * The refusal in a response that is not a success, in our own words. Reads the provider's error before cutting out secrets: a
 * code of `a`, cut out of `invalid_grant`, must not turn a refused code into a fault of the gateway.
 *
 * @param endpoint its name in the log
 */
export function refusedBy(
  endpoint: string,
  { status, body }: Pick<ProviderResponse, 'status' | 'body'>,
  secrets: readonly string[],
): ProviderFault {
  const members = jsonMembers(body);
  const said = members?.get('error');
  if (typeof said !== 'string' || said === '')
    return new ProviderFault('refused', `the ${endpoint} answered ${status}`, { status });
  const error = oauthError(said);
  const word = error === 'another' ? redact(said, secrets) : error;
  const why = members?.get('error_description');
  const description = typeof why === 'string' ? redact(why, secrets) : '';
  const message = `the ${endpoint} answered ${status} ${word}${description === '' ? '' : ` (${description})`}`;
  return new ProviderFault('refused', message, { status, error });
}
