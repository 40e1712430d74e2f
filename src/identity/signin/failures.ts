import type { GatewayErrorOptions, GrantKind, RedeemOutcome } from '../../core/index.ts';
import { GatewayError, retryAfterField } from '../../core/index.ts';
import type { OAuthError, ProviderResponse } from './ask-provider.ts';
import { jsonMembers, oauthError, ProviderFault, pointingTo } from './ask-provider.ts';

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

const UNAVAILABLE: ErrorKind = { status: 503, side: 'provider', fields: retryAfterField(5_000) };
const GATEWAY_FAULT: ErrorKind = { status: 500, side: 'gateway' };

/** The client's errors when a sign-in, a refresh or a sign-out fails. */
export const ERROR_KINDS: Readonly<Record<ProviderFailure, ErrorKind>> = {
  gateway_refused: GATEWAY_FAULT,
  not_ready: UNAVAILABLE,
  overloaded: { ...UNAVAILABLE, side: 'gateway', fields: retryAfterField(1_000), cap: 'max_in_flight' },
  unreachable: UNAVAILABLE,
  timed_out: { status: 504, side: 'provider' },
  broken: UNAVAILABLE,
  fault: GATEWAY_FAULT,
};

/**
 * Turns an error of `ProviderClient.ask` into an outcome, with a cause that is safe to log.
 *
 * @param doing what failed, for the log: "signing out"
 * @param grantRefused the outcome if the provider refuses the code or token in the request
 */
export function judgeFailure<Refused extends string>(
  error: unknown,
  doing: string,
  grantRefused: Refused,
): { readonly outcome: ProviderFailure | Refused; readonly cause: Error } {
  if (!(error instanceof ProviderFault))
    return { outcome: 'fault', cause: new Error(`${doing} failed in the gateway`) };
  const judgement = judgeFault(error);
  return { outcome: judgement === 'grant_refused' ? grantRefused : judgement, cause: error };
}

/**
 * The side to blame for a refused code or token: the provider if its error is an unknown word. That error is logged for operators,
 * since the gateway itself may be meant.
 */
export function sideOfRefusal(cause: Error | undefined): Pick<ErrorKind, 'side'> {
  const isUnknown = cause instanceof ProviderFault && cause.error === 'another';
  return isUnknown && judgeFault(cause) === 'grant_refused' ? { side: 'provider' } : {};
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

/** RFC 6749, 5.2. A status that means a failure or throttling takes precedence over the body. */
function judgeResponse(answered: number, error: OAuthError | null): ProviderFailure | 'grant_refused' {
  // An error with a 2xx counts as one with the status that the standard has for it.
  const status = answered < 300 && error !== null ? 400 : answered;
  if (status === 408 || status === 429 || status < 400 || status >= 500) return 'broken';
  switch (error) {
    // The client's code, redirect URI or refresh token. Google has its own error for the latter.
    case 'invalid_grant':
    case 'invalid_request':
    case 'redirect_uri_mismatch':
    case 'invalid_token':
    case 'expired_token':
    case 'token_inactive':
    // The user must sign in again. Entra ID sends the first for codes issued before its rules changed.
    case 'interaction_required':
    case 'login_required':
    case 'consent_required':
    case 'account_selection_required':
    case 'unmet_authentication_requirements':
    // A rule of the provider refuses this user (Auth0 Actions).
    case 'access_denied':
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
    case 'unsupported':
    case 'invalid_scope':
    // The resource that the scope or the authorization parameters name is invalid. Entra ID uses the second.
    case 'invalid_target':
    case 'invalid_resource':
    // The gateway itself sends no proofs; `failureOf` handles those of clients.
    case 'use_dpop_nonce':
    case 'invalid_dpop_proof':
      return 'gateway_refused';
    // The standards have an error for every refusal of the gateway, so a provider's own error concerns the user.
    case 'another':
      return status === 400 || status === 401 || status === 403 ? 'grant_refused' : 'gateway_refused';
  }
}

/** Interprets a response without an OAuth error: it comes from a proxy in between, or from a wrong address. */
function judgeStatus(status: number): ProviderFailure | 'grant_refused' {
  // The request was too long, and only the client's part of it varies in length.
  if (status === 413 || status === 414 || status === 431) return 'grant_refused';
  return status === 401 || status === 403 ? 'gateway_refused' : 'broken';
}

/**
 * The refusal in an unsuccessful response, in our own words. Reads the provider's error before removing secrets: a code of `a`,
 * cut out of `invalid_grant`, must not turn a refused code into a fault of the gateway.
 *
 * @param endpoint its name in the log
 */
export function refusedBy(
  endpoint: string,
  { status, body, ...rest }: Pick<ProviderResponse, 'status' | 'body'> & Partial<ProviderResponse>,
  secrets: readonly string[],
): ProviderFault {
  const { dpopNonce = null, redirectsTo = null, retryAfterMs = 0 } = rest;
  const members = jsonMembers(body) ?? new Map<string, unknown>();
  const said = errorIn(members);
  if (said === undefined) {
    const where = redirectsTo === null ? '' : pointingTo(redirectsTo.origin);
    return new ProviderFault('refused', `the ${endpoint} answered ${status}${where}`, {
      status,
      retryAfterMs,
    });
  }
  const error = oauthError(said);
  const isKnown = error !== 'another' && error !== 'unsupported';
  const word = isKnown ? error : redact(said, secrets);
  const why = members.get('error_description');
  const description = typeof why === 'string' ? redact(why, secrets) : '';
  const message = `the ${endpoint} answered ${status} ${word}${description === '' ? '' : ` (${description})`}`;
  return new ProviderFault('refused', message, { status, error, dpopNonce, retryAfterMs });
}

/**
 * The error in a response; some providers put it elsewhere than RFC 6749, 5.2: Supabase, Okta and Descope, and Google's APIs in an
 * object.
 */
function errorIn(members: ReadonlyMap<string, unknown>): string | undefined {
  const { error } = Object.fromEntries(members);
  const inner = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined;
  const said = [error, members.get('error_code'), members.get('errorCode'), inner];
  return said.find(each => typeof each === 'string' && each !== '') as string | undefined;
}

const MAX_LENGTH = 200;
const REMOVED = '[...]';
/**
 * Replaces a removed secret until the word around it is removed; no plain word contains it. One character, so the text never grows.
 */
const CUT = '*';

/**
 * An ordinary word, or an identifier like `invalid_grant`: no digits, no capitals after small letters, and too short for a
 * token.
 */
const PLAIN_WORD = /^(?=.{1,24}$)[("']*[A-Za-z](?:[a-z_'-]*|[A-Z_]*)[.,:;)"']*$/;

/** The number of an error of Microsoft Entra ID, Azure AD B2C or AD FS, without which its explanations say little. */
const NUMBERED_ERROR = /^[("']*(?:AADSTS|AADB2C|MSIS)\d{4,8}[.,:;)"']*$/;

/**
 * Makes the provider's explanation safe to log: removes the known secrets and every word that could be a code or a token. "Code
 * not valid" stays unchanged, so an operator can distinguish one `invalid_grant` from another.
 */
export function redact(text: string, secrets: readonly string[]): string {
  let quiet = text;
  // Longest first: removing a short secret from a longer one would leave pieces of the longer.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    if (secret !== '') quiet = quiet.replaceAll(secret, CUT);
  }
  const words = quiet.split(/[^\x21-\x7e]+/, 40).filter(word => word !== '');
  return words
    .map(word => (PLAIN_WORD.test(word) || NUMBERED_ERROR.test(word) ? word : REMOVED))
    .join(' ')
    .slice(0, MAX_LENGTH);
}

/** How redeeming a valid request can fail. */
export type FailedOutcome = ProviderFailure | 'code_refused' | 'token_refused' | 'proof_refused';

const REFUSED = { code: 'code_refused', refresh_token: 'token_refused' } as const;

const KINDS: Readonly<Record<FailedOutcome, ErrorKind>> = {
  ...ERROR_KINDS,
  code_refused: { status: 400, side: 'client' },
  // A refresh token is a credential: 401, which counts as an invalid request, and a challenge (RFC 9110, 15.5.2).
  token_refused: { status: 401, fields: ['WWW-Authenticate', 'Bearer'] },
  proof_refused: { status: 401, fields: ['WWW-Authenticate', 'DPoP error="invalid_dpop_proof"'] },
};

/** The client's messages. They only say what to do about the request, since a client can do nothing else. */
function messagesFor(
  what: 'code' | 'refresh token',
  operation: string,
): Readonly<Record<FailedOutcome | 'throttled', string>> {
  const unused = `The ${what} was not used; try again with the same one.`;
  const perhapsSpent = `The ${what} may be spent; if so, start the sign-in again.`;
  return {
    code_refused:
      'The code was not accepted: it is unknown, expired or already used, or redirectUri is not exactly the one it was obtained with. Start the sign-in again.',
    token_refused:
      'The refresh token was not accepted: it is unknown, expired, revoked or already used. Start the sign-in again.',
    proof_refused: `The DPoP proof was not accepted: make one for the token endpoint of the identity provider, with the nonce in DPoP-Nonce if there is one. ${unused}`,
    gateway_refused: `${operation} is not possible at the moment because of a fault in this service.`,
    not_ready: `The identity provider could not be reached yet. ${unused}`,
    overloaded: `Too many requests to the identity provider are under way. ${unused}`,
    unreachable: `The identity provider cannot be reached. ${unused}`,
    timed_out: `The identity provider did not answer in time. ${perhapsSpent}`,
    broken: `The identity provider failed. ${perhapsSpent}`,
    throttled: `The identity provider takes no more requests for now. ${unused}`,
    fault: 'Internal fault.',
  };
}

const MESSAGES: Readonly<Record<GrantKind, ReturnType<typeof messagesFor>>> = {
  code: messagesFor('code', 'Sign-in'),
  refresh_token: messagesFor('refresh token', 'A refresh of tokens'),
};

/** The failure for clients that request the login page before the provider's endpoints are known. They have sent no secret. */
export function noLoginPageYet(): GatewayError {
  return new GatewayError({
    ...KINDS.not_ready,
    message:
      'The identity provider could not be reached yet, so the address of its login page is not known. Try again shortly.',
  });
}

/** The failure with this outcome. `cause` is logged and must be safe for that. */
export function failure(grant: GrantKind, outcome: FailedOutcome, cause?: Error): Failure<FailedOutcome> {
  const { status, retryAfterMs } = cause instanceof ProviderFault ? cause : { status: null, retryAfterMs: 0 };
  // RFC 6585, 4: the provider throttled the request and did not process it.
  const said = outcome === 'broken' && status === 429 ? 'throttled' : outcome;
  return {
    outcome,
    error: new GatewayError({
      ...KINDS[outcome],
      ...sideOfRefusal(cause),
      ...(outcome === 'broken' && retryAfterMs > 0 && { fields: retryAfterField(retryAfterMs) }),
      message: MESSAGES[grant][said],
      cause,
    }),
  };
}

/**
 * Turns an error of redeeming a grant into an outcome.
 *
 * @param sentProof whether the client sent a proof with it
 */
export function failureOf(grant: GrantKind, error: unknown, sentProof = false): Failure<FailedOutcome> {
  if (sentProof && error instanceof ProviderFault) {
    if (error.error === 'use_dpop_nonce') return nonceNeeded(grant, error);
    if (error.error === 'invalid_dpop_proof') return failure(grant, 'proof_refused', error);
  }
  const { outcome, cause } = judgeFailure(error, 'redeeming', REFUSED[grant]);
  return failure(grant, outcome, cause);
}

/** The failure for a proof without the provider's nonce. The client gets the nonce, to send another proof (RFC 9449, 8). */
function nonceNeeded(grant: GrantKind, cause: ProviderFault): Failure<'proof_refused'> {
  const { dpopNonce } = cause;
  const fields = ['WWW-Authenticate', 'DPoP error="use_dpop_nonce"'];
  if (dpopNonce !== null) fields.push('DPoP-Nonce', dpopNonce);
  const message = MESSAGES[grant].proof_refused;
  return { outcome: 'proof_refused', error: new GatewayError({ status: 401, fields, message, cause }) };
}
