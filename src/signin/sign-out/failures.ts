import { GatewayError, type GatewayErrorOptions, RpcCode, type SignOutOutcome } from '../../core/index.ts';

/** How the provider's part of a valid sign-out can fail. */
export type FailedSignOut = Exclude<SignOutOutcome, 'success' | 'bad_body'>;

export interface SignOutFailure {
  readonly outcome: FailedSignOut;
  readonly error: GatewayError;
}

type ErrorText = Omit<GatewayErrorOptions, 'cause'>;

const DONE = 'The access tokens of this session are refused from now on.';
const VALID =
  'the refresh token is still valid: forget it, or get a new access token with it and sign out again.';
const PERHAPS = 'the refresh token may still be valid: forget it.';
const RETRY_AFTER = ['Retry-After', '5'] as const;

/** The client's responses: they say what happened, and what did not. */
const RESPONSES: Readonly<Record<FailedSignOut, ErrorText>> = {
  token_refused: {
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    message: `${DONE} The identity provider did not accept the refresh token, so it ended nothing there.`,
  },
  gateway_refused: {
    status: 500,
    rpcCode: RpcCode.internal,
    side: 'gateway',
    message: `${DONE} Because of a fault in this service, ${VALID}`,
  },
  not_ready: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message: `${DONE} The identity provider could not be reached yet, so ${VALID}`,
    fields: RETRY_AFTER,
  },
  overloaded: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'gateway',
    message: `${DONE} Too many requests to the identity provider are under way, so ${VALID}`,
    fields: ['Retry-After', '1'],
    cap: 'max_in_flight',
  },
  unreachable: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message: `${DONE} The identity provider cannot be reached, so ${VALID}`,
    fields: RETRY_AFTER,
  },
  timed_out: {
    status: 504,
    rpcCode: RpcCode.deadlineExceeded,
    side: 'provider',
    message: `${DONE} The identity provider did not answer in time: ${PERHAPS}`,
  },
  broken: {
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'provider',
    message: `${DONE} The identity provider failed: ${PERHAPS}`,
    fields: RETRY_AFTER,
  },
  fault: {
    status: 500,
    rpcCode: RpcCode.internal,
    side: 'gateway',
    message: `${DONE} Because of a fault in this service, ${PERHAPS}`,
  },
};

/** The failure with that outcome. `cause` goes to the log and must be safe there. */
export function signOutFailure(outcome: FailedSignOut, cause?: Error): SignOutFailure {
  return { outcome, error: new GatewayError({ ...RESPONSES[outcome], cause }) };
}
