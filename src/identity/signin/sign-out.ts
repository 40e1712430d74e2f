import { type ClientAuth, type Configuration, customFetch, tokenRevocation } from 'openid-client';
import { type Clock, GatewayError, type SignInListener, type SignOutOutcome } from '../../core/index.ts';
import { ProviderFault, saysInvalid } from './ask-provider.ts';
import type { ProviderClient, ProviderRequests } from './client-request.ts';
import { ERROR_KINDS, type ErrorKind, type Failure, judgeFailure, sideOfRefusal } from './failures.ts';
import type { SignOutEnds } from './options.ts';
import type { ProviderMetadata } from './provider.ts';
import { readRefreshToken } from './read-request.ts';

/** How the provider's part of a valid sign-out can fail. */
type FailedSignOut = Exclude<SignOutOutcome, 'success' | 'bad_body'>;

interface SignOutDependencies {
  readonly clock: Clock;
  readonly listener: Pick<SignInListener, 'signedOut'>;
  readonly client: ProviderClient;
  /** Shared with the other sign-in endpoints. */
  readonly inFlight: ProviderRequests;
}

type Ended =
  | { readonly outcome: 'success'; readonly error: null }
  | { readonly outcome: 'bad_body'; readonly error: GatewayError }
  | Failure<FailedSignOut>;

const SUCCESS: Ended = { outcome: 'success', error: null };

/**
 * The path `sign_in.sign_out` (docs/contract.md, 1.7). It ends the session of the access token in all gateways, at once and
 * whatever the provider answers, and the refresh token at the provider. Only the provider can verify a refresh token (it may be
 * opaque, or signed with a secret), so nothing in it is trusted, and a 200 for it means nothing (RFC 7009, 2.2).
 */
export class SignOut {
  readonly #ends: SignOutEnds;
  readonly #parts: SignOutDependencies;

  constructor(ends: SignOutEnds, parts: SignOutDependencies) {
    this.#ends = ends;
    this.#parts = parts;
  }

  /**
   * Signs a client out. Returns the client's error, or `null` if everything succeeded. Never rejects, and cannot be cancelled.
   *
   * @param endSession ends the session in the gateways, and resolves once all threads of this process know; called unless the body
   *   is invalid, and again when the provider has answered
   */
  async run(body: Buffer, address: string, endSession: () => Promise<void>): Promise<GatewayError | null> {
    const startedMs = this.#parts.clock.monotonicMs();
    const { outcome, error } = await this.#run(body, address, endSession);
    const durationMs = this.#parts.clock.monotonicMs() - startedMs;
    this.#parts.listener.signedOut({ outcome, durationMs, error });
    return error;
  }

  async #run(body: Buffer, address: string, endSession: () => Promise<void>): Promise<Ended> {
    const refreshToken = readRefreshToken(body);
    if (refreshToken instanceof GatewayError) return { outcome: 'bad_body', error: refreshToken };
    const known = endSession();
    const ended = await this.#endRefreshToken(refreshToken, address);
    // End the session again: another tab of the client may have refreshed its tokens meanwhile.
    await Promise.all([known, endSession()]);
    return ended;
  }

  async #endRefreshToken(refreshToken: string, address: string): Promise<Ended> {
    if (this.#ends === 'nothing') return SUCCESS;
    const { inFlight } = this.#parts;
    if (!inFlight.take(address)) return signOutFailure('overloaded');
    try {
      return await this.#endAtProvider(refreshToken, WAYS[this.#ends]);
    } catch (error) {
      // Revoking an unknown token succeeds (RFC 7009, 2.2); Keycloak reports that with this error.
      if (saysInvalid(error) && error.status === 200) return SUCCESS;
      const { outcome, cause } = judgeFailure(error, 'signing out', 'token_refused');
      return signOutFailure(outcome, cause);
    } finally {
      inFlight.giveBack(address);
    }
  }

  async #endAtProvider(refreshToken: string, { endpoint, successes, ...way }: Way): Promise<Ended> {
    const { client } = this.#parts;
    const { metadata } = client;
    if (metadata === undefined) return signOutFailure('not_ready');
    const url = way.addressIn(metadata);
    if (url === null)
      return signOutFailure(
        'gateway_refused',
        new ProviderFault('nonsense', `the provider publishes no usable ${endpoint}`),
      );
    const request = {
      endpoint,
      url,
      ...(successes && { successes }),
      secrets: [refreshToken],
      send: way.sender(refreshToken, url),
      read: done,
    };
    await client.ask(request, metadata);
    return SUCCESS;
  }
}

/** An empty success for openid-client, which needs no body. */
function done(): Response {
  return new Response();
}

/** A way to make the provider end a refresh token or a session. */
interface Way {
  /** The endpoint's name in the discovery document. */
  readonly endpoint: string;
  /** As in `ProviderClient.ask`. */
  readonly successes?: readonly number[];
  /** The endpoint's address; `null` if the gateway must not call one. */
  addressIn(metadata: ProviderMetadata): string | null;
  sender(
    refreshToken: string,
    url: string,
  ): (configuration: Configuration, authenticate: ClientAuth) => Promise<void>;
}

const WAYS: Readonly<Record<Exclude<SignOutEnds, 'nothing'>, Way>> = {
  // RFC 7009, 2.2. The response for an unknown token is a 200 as well.
  refresh_token: {
    endpoint: 'revocation_endpoint',
    addressIn: metadata => metadata.revocationEndpoint,
    sender: token => configuration =>
      tokenRevocation(configuration, token, { token_type_hint: 'refresh_token' }),
  },
  // Keycloak's way to end a session without a browser. Another provider answers here with a page for browsers and a 200.
  session: {
    endpoint: 'end_session_endpoint',
    successes: [204],
    addressIn: metadata => metadata.endSessionEndpoint,
    sender: (token, url) => async (configuration, authenticate) => {
      const body = new URLSearchParams({ refresh_token: token });
      const headers = new Headers({
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      });
      // No standard defines this request, so openid-client only authenticates it.
      await authenticate(configuration.serverMetadata(), configuration.clientMetadata(), body, headers);
      const post = {
        method: 'POST',
        headers: Object.fromEntries(headers),
        body,
        redirect: 'manual',
      } as const;
      await configuration[customFetch]?.(url, post);
    },
  },
};

const DONE = 'The access tokens of this session are refused from now on.';
const VALID =
  'the refresh token is still valid: forget it, or get a new access token with it and sign out again.';
const PERHAPS = 'the refresh token may still be valid: forget it.';

const KINDS: Readonly<Record<FailedSignOut, ErrorKind>> = {
  ...ERROR_KINDS,
  token_refused: { status: 400, side: 'client' },
};

/** The client's messages: what was done, and what was not. */
const MESSAGES: Readonly<Record<FailedSignOut, string>> = {
  token_refused: 'The identity provider did not accept the refresh token, so it ended nothing there.',
  gateway_refused: `Because of a fault in this service, ${VALID}`,
  not_ready: `The identity provider could not be reached yet, so ${VALID}`,
  overloaded: `Too many requests to the identity provider are under way, so ${VALID}`,
  unreachable: `The identity provider cannot be reached, so ${VALID}`,
  timed_out: `The identity provider did not answer in time: ${PERHAPS}`,
  broken: `The identity provider failed: ${PERHAPS}`,
  fault: `Because of a fault in this service, ${PERHAPS}`,
};

/** The failure with this outcome. `cause` is logged and must be safe for that. */
function signOutFailure(outcome: FailedSignOut, cause?: Error): Failure<FailedSignOut> {
  const message = `${DONE} ${MESSAGES[outcome]}`;
  return { outcome, error: new GatewayError({ ...KINDS[outcome], ...sideOfRefusal(cause), message, cause }) };
}
