import {
  GatewayError,
  type GatewayErrorOptions,
  type GrantKind,
  type RedeemOutcome,
  RpcCode,
} from '../../core/index.ts';
import { oauthError, ProviderFault } from '../provider/index.ts';
import { quietText } from './quiet-text.ts';
import { jsonMembers } from './request-body.ts';

/** How redeeming a valid request can fail. */
export type FailedOutcome = Exclude<RedeemOutcome, 'success' | 'bad_body'>;

export interface Failure {
  readonly outcome: FailedOutcome;
  readonly error: GatewayError;
}

type ErrorText = Omit<GatewayErrorOptions, 'cause'>;

/** How long a client should wait before it tries again, in seconds. */
const RETRY_AFTER = ['Retry-After', '5'] as const;

/** The client's responses. The messages say what to do about what was sent, which is all that a client can act on. */
function responsesFor(
  what: 'code' | 'refresh token',
  operation: string,
): Readonly<Record<FailedOutcome, ErrorText>> {
  const unused = `The ${what} was not used; try again with the same one.`;
  const perhapsSpent = `The ${what} may be spent; if so, start the sign-in again.`;
  return {
    code_refused: {
      status: 400,
      rpcCode: RpcCode.invalidArgument,
      side: 'client',
      message:
        'The code was not accepted: it is unknown, expired or already used, or redirectUri is not exactly the one it was obtained with. Start the sign-in again.',
    },
    // A refresh token is a credential: 401, which counts as an invalid request, and a challenge (RFC 9110, 15.5.2).
    token_refused: {
      status: 401,
      rpcCode: RpcCode.unauthenticated,
      side: 'client',
      message:
        'The refresh token was not accepted: it is unknown, expired, revoked or already used. Start the sign-in again.',
      fields: ['WWW-Authenticate', 'Bearer'],
    },
    gateway_refused: {
      status: 500,
      rpcCode: RpcCode.internal,
      side: 'gateway',
      message: `${operation} is not possible at the moment because of a fault in this service.`,
    },
    not_ready: {
      status: 503,
      rpcCode: RpcCode.unavailable,
      side: 'provider',
      message: `The identity provider could not be reached yet. ${unused}`,
      fields: RETRY_AFTER,
    },
    overloaded: {
      status: 503,
      rpcCode: RpcCode.unavailable,
      side: 'gateway',
      message: `Too many requests to the identity provider are under way. ${unused}`,
      fields: ['Retry-After', '1'],
      cap: 'max_in_flight',
    },
    unreachable: {
      status: 503,
      rpcCode: RpcCode.unavailable,
      side: 'provider',
      message: `The identity provider cannot be reached. ${unused}`,
      fields: RETRY_AFTER,
    },
    timed_out: {
      status: 504,
      rpcCode: RpcCode.deadlineExceeded,
      side: 'provider',
      message: `The identity provider did not answer in time. ${perhapsSpent}`,
    },
    broken: {
      status: 503,
      rpcCode: RpcCode.unavailable,
      side: 'provider',
      message: `The identity provider failed. ${perhapsSpent}`,
      fields: RETRY_AFTER,
    },
    fault: {
      status: 500,
      rpcCode: RpcCode.internal,
      side: 'gateway',
      message: 'Internal fault.',
    },
  };
}

const RESPONSES: Readonly<Record<GrantKind, ReturnType<typeof responsesFor>>> = {
  code: responsesFor('code', 'Sign-in'),
  refresh_token: responsesFor('refresh token', 'A refresh of tokens'),
};

/** For clients that ask for the login page, which have sent nothing, before the provider's endpoints are known. */
export function noLoginPageYet(): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message:
      'The identity provider could not be reached yet, so the address of its login page is not known. Try again shortly.',
    fields: RETRY_AFTER,
  });
}

/** The failure with that outcome. `cause` goes to the log and must be safe there. */
export function failure(grant: GrantKind, outcome: FailedOutcome, cause?: Error): Failure {
  return { outcome, error: new GatewayError({ ...RESPONSES[grant][outcome], cause }) };
}

/** An error as an endpoint of the provider says it (RFC 6749, 5.2). */
interface SaidError {
  readonly status: number;
  readonly error: string;
  readonly error_description?: unknown;
}

/**
 * A refusal in our own words. Reads the provider's error before cutting out secrets: a code of `a`, cut out of
 * `invalid_grant`, must not turn a refused code into a fault of the gateway.
 *
 * @param endpoint as the log names it
 */
export function refusal(endpoint: string, said: SaidError, secrets: readonly string[]): ProviderFault {
  const { status, error_description: why } = said;
  const error = oauthError(said.error);
  const word = error === 'another' ? quietText(said.error, secrets) : error;
  const description = typeof why === 'string' ? quietText(why, secrets) : '';
  const message = `the ${endpoint} answered ${status} ${word}${description === '' ? '' : ` (${description})`}`;
  return new ProviderFault('refused', message, { status, error });
}

/** The refusal in a response that is not a success. */
export function refusedBy(
  endpoint: string,
  { status, body }: { readonly status: number; readonly body: Buffer },
  secrets: readonly string[],
): ProviderFault {
  const members = jsonMembers(body);
  const error = members?.get('error');
  if (typeof error !== 'string')
    return new ProviderFault('refused', `the ${endpoint} answered ${status}`, { status });
  return refusal(endpoint, { status, error, error_description: members?.get('error_description') }, secrets);
}
