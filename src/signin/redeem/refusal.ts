import { oauthError, ProviderFault } from '../provider/index.ts';
import { jsonMembers } from './json-members.ts';
import { quietText } from './quiet-text.ts';

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
