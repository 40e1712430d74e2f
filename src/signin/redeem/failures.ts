import {
  GatewayError,
  type GatewayErrorOptions,
  type GrantKind,
  type RedeemOutcome,
  RpcCode,
} from '../../core/index.ts';

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
