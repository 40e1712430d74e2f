import { ClientError, ResponseBodyError } from 'openid-client';
import { GatewayError, type GatewayErrorOptions, type RedeemOutcome, RpcCode } from '../../core/index.ts';
import { type OAuthError, oauthError, ProviderFault } from '../provider/index.ts';
import { quietText } from './quiet-text.ts';

/** How redeeming a valid request can fail. */
export type FailedOutcome = Exclude<RedeemOutcome, 'success' | 'bad_body'>;

/** How long a client should wait before it tries again, in seconds. */
const RETRY_AFTER = ['Retry-After', '5'] as const;

/** The client's responses. The messages say what to do about the code, which is all that a client can act on. */
const RESPONSES: Readonly<Record<FailedOutcome, Omit<GatewayErrorOptions, 'cause'>>> = {
  code_refused: {
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message:
      'The code was not accepted: it is unknown, expired or already used, or redirectUri is not exactly the one it was obtained with. Start the sign-in again.',
  },
  gateway_refused: {
    status: 500,
    rpcCode: RpcCode.internal,
    side: 'gateway',
    message: 'Sign-in is not possible at the moment because of a fault in this service.',
  },
  not_ready: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message:
      'The identity provider could not be reached yet. The code was not used; try again with the same one.',
    fields: RETRY_AFTER,
  },
  overloaded: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'gateway',
    message: 'Too many sign-ins are under way. The code was not used; try again with the same one.',
    fields: ['Retry-After', '1'],
    cap: 'max_in_flight',
  },
  unreachable: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message: 'The identity provider cannot be reached. The code was not used; try again with the same one.',
    fields: RETRY_AFTER,
  },
  timed_out: {
    status: 504,
    rpcCode: RpcCode.deadlineExceeded,
    side: 'provider',
    message:
      'The identity provider did not answer in time. The code may be spent; if so, start the sign-in again.',
  },
  broken: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message: 'The identity provider failed. The code may be spent; if so, start the sign-in again.',
    fields: RETRY_AFTER,
  },
  fault: {
    status: 500,
    rpcCode: RpcCode.internal,
    side: 'gateway',
    message: 'Internal fault.',
  },
};

export interface Failure {
  readonly outcome: FailedOutcome;
  readonly error: GatewayError;
}

/** The failure with that outcome. `cause` goes to the log and must be safe there. */
export function failure(outcome: FailedOutcome, cause?: Error): Failure {
  return { outcome, error: new GatewayError({ ...RESPONSES[outcome], cause }) };
}

/**
 * What a failed token request means.
 *
 * @param error what `redeemCode` rejected with
 * @param secrets the secrets in the request, which are cut out of the provider's explanation before it is logged
 */
export function failureOf(error: unknown, secrets: readonly string[]): Failure {
  const fault = faultIn(error, secrets);
  return failure(outcomeOf(fault), fault);
}

function outcomeOf(fault: ProviderFault | Error): FailedOutcome {
  if (!(fault instanceof ProviderFault)) return 'fault';
  switch (fault.kind) {
    case 'unreachable':
      return 'unreachable';
    case 'timed_out':
      return 'timed_out';
    case 'refused':
      return outcomeOfResponse(fault.status ?? 0, fault.error);
    case 'reset':
    case 'too_large':
    case 'malformed':
    case 'nonsense':
      return 'broken';
  }
}

/** RFC 6749, 5.2. A status that means trouble or throttling counts more than the body. */
function outcomeOfResponse(status: number, error: OAuthError | null): FailedOutcome {
  if (status === 408 || status === 429 || status < 400 || status >= 500) return 'broken';
  switch (error) {
    // The client's code or redirect URI. Google has its own error for the latter.
    case 'invalid_grant':
    case 'invalid_request':
    case 'redirect_uri_mismatch':
    // The user must sign in again: Entra ID says this about codes issued before its rules changed.
    case 'interaction_required':
      return 'code_refused';
    // Temporary (RFC 6749, 4.1.2.1 defines the first two for the authorization endpoint).
    case 'temporarily_unavailable':
    case 'server_error':
    case 'slow_down':
      return 'broken';
    case null:
      return outcomeOfStatus(status);
    // The gateway as a client, or its kind of request, is refused.
    case 'invalid_client':
    case 'unauthorized_client':
    case 'unsupported_grant_type':
    case 'invalid_scope':
    case 'another':
      return 'gateway_refused';
  }
}

/** Not an OAuth error: the response comes from a proxy on the way, or from the wrong address. */
function outcomeOfStatus(status: number): FailedOutcome {
  // Too long, and only what the client sent varies in length.
  if (status === 413 || status === 414 || status === 431) return 'code_refused';
  return status === 401 || status === 403 ? 'gateway_refused' : 'broken';
}

/**
 * The fault behind an error, in our own words. openid-client nests errors, with the response or its parsed body as the
 * innermost cause, so this walks the chain and keeps nothing of it.
 */
function faultIn(error: unknown, secrets: readonly string[]): ProviderFault | Error {
  let link = error;
  for (let depth = 0; depth < 8; depth += 1) {
    if (link instanceof ProviderFault) return link;
    if (link instanceof ResponseBodyError) return refusal(link, secrets);
    if (link instanceof Response) return statusFault(link.status);
    if (!(link instanceof Error)) break;
    link = link.cause;
  }
  if (error instanceof ClientError && error.code !== undefined) {
    return new ProviderFault('nonsense', `the token response cannot be used: ${error.code}`);
  }
  return new Error(
    `redeeming failed in the gateway: ${error instanceof Error ? quietText(error.name, secrets) : 'no error'}`,
  );
}

/**
 * Reads the provider's error before cutting out secrets: a code of `a`, cut out of `invalid_grant`, must not turn a refused
 * code into a fault of the gateway.
 */
function refusal(response: ResponseBodyError, secrets: readonly string[]): ProviderFault {
  const error = oauthError(response.error);
  const word = error === 'another' ? quietText(response.error, secrets) : error;
  const description =
    typeof response.error_description === 'string' ? quietText(response.error_description, secrets) : '';
  const message = `the token endpoint answered ${response.status} ${word}${description === '' ? '' : ` (${description})`}`;
  return new ProviderFault('refused', message, { status: response.status, error });
}

function statusFault(status: number): ProviderFault {
  return status === 200
    ? new ProviderFault('nonsense', 'the token response is not a JSON object', { status })
    : new ProviderFault('refused', `the token endpoint answered ${status}`, { status });
}
