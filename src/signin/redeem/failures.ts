import { GatewayError, type GrantKind, RpcCode } from '../../core/index.ts';
import { ERROR_KINDS, type ErrorKind, type Failure, judge, type ProviderFailure } from '../failures.ts';

/** How redeeming a valid request can fail. */
export type FailedOutcome = ProviderFailure | 'code_refused' | 'token_refused';

const REFUSED = { code: 'code_refused', refresh_token: 'token_refused' } as const;

const KINDS: Readonly<Record<FailedOutcome, ErrorKind>> = {
  ...ERROR_KINDS,
  code_refused: { status: 400, rpcCode: RpcCode.invalidArgument, side: 'client' },
  // A refresh token is a credential: 401, which counts as an invalid request, and a challenge (RFC 9110, 15.5.2).
  token_refused: {
    status: 401,
    rpcCode: RpcCode.unauthenticated,
    side: 'client',
    fields: ['WWW-Authenticate', 'Bearer'],
  },
};

/** The client's messages. They say what to do about what was sent, which is all that a client can act on. */
function messagesFor(
  what: 'code' | 'refresh token',
  operation: string,
): Readonly<Record<FailedOutcome, string>> {
  const unused = `The ${what} was not used; try again with the same one.`;
  const perhapsSpent = `The ${what} may be spent; if so, start the sign-in again.`;
  return {
    code_refused:
      'The code was not accepted: it is unknown, expired or already used, or redirectUri is not exactly the one it was obtained with. Start the sign-in again.',
    token_refused:
      'The refresh token was not accepted: it is unknown, expired, revoked or already used. Start the sign-in again.',
    gateway_refused: `${operation} is not possible at the moment because of a fault in this service.`,
    not_ready: `The identity provider could not be reached yet. ${unused}`,
    overloaded: `Too many requests to the identity provider are under way. ${unused}`,
    unreachable: `The identity provider cannot be reached. ${unused}`,
    timed_out: `The identity provider did not answer in time. ${perhapsSpent}`,
    broken: `The identity provider failed. ${perhapsSpent}`,
    fault: 'Internal fault.',
  };
}

const MESSAGES: Readonly<Record<GrantKind, ReturnType<typeof messagesFor>>> = {
  code: messagesFor('code', 'Sign-in'),
  refresh_token: messagesFor('refresh token', 'A refresh of tokens'),
};

/** For clients that ask for the login page, which have sent nothing, before the provider's endpoints are known. */
export function noLoginPageYet(): GatewayError {
  return new GatewayError({
    ...KINDS.not_ready,
    message:
      'The identity provider could not be reached yet, so the address of its login page is not known. Try again shortly.',
  });
}

/** The failure with that outcome. `cause` goes to the log and must be safe there. */
export function failure(grant: GrantKind, outcome: FailedOutcome, cause?: Error): Failure<FailedOutcome> {
  return {
    outcome,
    error: new GatewayError({ ...KINDS[outcome], message: MESSAGES[grant][outcome], cause }),
  };
}

/** What it means that redeeming a grant failed with this error. */
export function failureOf(grant: GrantKind, error: unknown): Failure<FailedOutcome> {
  const { outcome, cause } = judge(error, 'redeeming', REFUSED[grant]);
  return failure(grant, outcome, cause);
}
