import { ClientError, ResponseBodyError } from 'openid-client';
import type { GrantKind } from '../../core/index.ts';
import { type OAuthError, ProviderFault } from '../provider/index.ts';
import { type FailedOutcome, type Failure, failure, refusal } from './failures.ts';
import { quietText } from './quiet-text.ts';

/** What failed, whichever grant it was. */
type Judgement = Exclude<FailedOutcome, 'code_refused' | 'token_refused'> | 'grant_refused';

const REFUSED: Readonly<Record<GrantKind, FailedOutcome>> = {
  code: 'code_refused',
  refresh_token: 'token_refused',
};

/**
 * What a failed token request means.
 *
 * @param error what `requestTokens` rejected with
 * @param secrets the secrets in the request, which are cut out of the provider's explanation before it is logged
 */
export function failureOf(grant: GrantKind, error: unknown, secrets: readonly string[]): Failure {
  const fault = faultIn(error, secrets);
  const judgement = judge(fault);
  return failure(grant, judgement === 'grant_refused' ? REFUSED[grant] : judgement, fault);
}

/** What a failed request to the provider means. */
export function judge(fault: ProviderFault | Error): Judgement {
  if (!(fault instanceof ProviderFault)) return 'fault';
  switch (fault.kind) {
    case 'unreachable':
      return 'unreachable';
    case 'timed_out':
      return 'timed_out';
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
function judgeResponse(status: number, error: OAuthError | null): Judgement {
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

/** Not an OAuth error: the response comes from a proxy on the way, or from the wrong address. */
function judgeStatus(status: number): Judgement {
  // Too long, and only what the client sent varies in length.
  if (status === 413 || status === 414 || status === 431) return 'grant_refused';
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
    if (link instanceof ResponseBodyError) return refusal('token endpoint', link, secrets);
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

function statusFault(status: number): ProviderFault {
  return status === 200
    ? new ProviderFault('nonsense', 'the token response is not a JSON object', { status })
    : new ProviderFault('refused', `the token endpoint answered ${status}`, { status });
}
