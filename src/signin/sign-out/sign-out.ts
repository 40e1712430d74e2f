import type { ClientAuth } from 'openid-client';
import { type Clock, GatewayError, type SignInListener } from '../../core/index.ts';
import type { InFlight } from '../in-flight.ts';
import type { SignInOptions, SignOutEnds } from '../options.ts';
import { type ClientDependencies, postAsClient } from '../post-as-client.ts';
import { type Provider, ProviderFault, type ProviderMetadata } from '../provider/index.ts';
import { judge, readRefreshToken, refusedBy } from '../redeem/index.ts';
import { type SignOutFailure, signOutFailure } from './failures.ts';

interface SignOutDependencies {
  readonly provider: Provider;
  readonly clock: Clock;
  readonly listener: Pick<SignInListener, 'signedOut'>;
  readonly authentication: ClientAuth;
  readonly inFlight: InFlight;
}

type Ended =
  | { readonly outcome: 'success'; readonly error: null }
  | { readonly outcome: 'bad_body'; readonly error: GatewayError }
  | SignOutFailure;

const SUCCESS: Ended = { outcome: 'success', error: null };

/**
 * The path `sign_in.sign_out` (docs/contract.md, 1.7). It ends two things. The session of the access token that came with the
 * request, in the gateways: at once, and whatever the provider does or says. The refresh token, at the provider: nobody else can
 * verify it (it may be opaque, or under the provider's own secret), so nothing in it is believed, and a 200 for it says nothing
 * (RFC 7009, 2.2).
 */
export class SignOut {
  readonly #options: SignInOptions;
  readonly #parts: SignOutDependencies;

  constructor(options: SignInOptions, parts: SignOutDependencies) {
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Never rejects, and cannot be cancelled. Null: all went well.
   *
   * @param endSession ends the session in the gateways; called unless the body is wrong, and once more when the provider is done
   */
  async run(body: Buffer, address: string, endSession: () => void): Promise<GatewayError | null> {
    const startedMs = this.#parts.clock.monotonicMs();
    const { outcome, error } = await this.#run(body, address, endSession);
    const durationMs = this.#parts.clock.monotonicMs() - startedMs;
    this.#parts.listener.signedOut({ outcome, durationMs, error });
    return error;
  }

  async #run(body: Buffer, address: string, endSession: () => void): Promise<Ended> {
    const refreshToken = readRefreshToken(body);
    if (refreshToken instanceof GatewayError) return { outcome: 'bad_body', error: refreshToken };
    endSession();
    const { signOutEnds: ends } = this.#options;
    if (ends === 'nothing') return SUCCESS;
    const { inFlight } = this.#parts;
    if (!inFlight.take(address)) return signOutFailure('overloaded');
    try {
      return await this.#endAtProvider(refreshToken, ends);
    } catch (error) {
      return error instanceof ProviderFault
        ? signOutFailure(outcomeOf(error), error)
        : signOutFailure('fault', new Error('signing out failed in the gateway'));
    } finally {
      inFlight.giveBack(address);
      // Another tab of the client may have refreshed its tokens while the provider took its time.
      endSession();
    }
  }

  async #endAtProvider(refreshToken: string, ends: EndableThere): Promise<Ended> {
    const { provider, authentication } = this.#parts;
    const { clientId, clientAuthentication } = this.#options;
    const { metadata } = provider;
    if (metadata === undefined) return signOutFailure('not_ready');
    const missing = whyNoEnd(ends, metadata);
    if (missing !== null) return signOutFailure('gateway_refused', missing);
    const secrets = [refreshToken, 'secret' in clientAuthentication ? clientAuthentication.secret : ''];
    const parts = { metadata, provider: provider.options, clientId, authentication, secrets };
    await endAtProvider(refreshToken, ends, parts);
    return SUCCESS;
  }
}

function outcomeOf(fault: ProviderFault): SignOutFailure['outcome'] {
  const judgement = judge(fault);
  return judgement === 'grant_refused' ? 'token_refused' : judgement;
}

/** What ending something at the provider needs beside the refresh token. */
interface EndDependencies extends ClientDependencies {
  /** The secrets in the request, which are cut out of the provider's explanation before it is logged. */
  readonly secrets: readonly string[];
}

interface Way {
  /** As the discovery document calls the endpoint. */
  readonly endpointName: string;
  endpointOf(metadata: ProviderMetadata): string | null;
  formOf(refreshToken: string): Readonly<Record<string, string>>;
  isSuccess(status: number): boolean;
}

/** What the provider can be asked to end. */
type EndableThere = Exclude<SignOutEnds, 'nothing'>;

const WAYS: Readonly<Record<EndableThere, Way>> = {
  // RFC 7009, 2.1. The body of a 200 means nothing; one for an unknown token is a 200, too.
  refresh_token: {
    endpointName: 'revocation_endpoint',
    endpointOf: metadata => metadata.revocationEndpoint,
    formOf: token => ({ token, token_type_hint: 'refresh_token' }),
    isSuccess: status => status === 200 || status === 204,
  },
  // Keycloak's way to end a session without a browser. Another provider shows a page to a browser here, with a 200.
  session: {
    endpointName: 'end_session_endpoint',
    endpointOf: metadata => metadata.endSessionEndpoint,
    formOf: token => ({ refresh_token: token }),
    isSuccess: status => status === 204,
  },
};

/** Why the provider cannot end this; null: it can. */
function whyNoEnd(ends: EndableThere, metadata: ProviderMetadata): ProviderFault | null {
  const { endpointName, endpointOf } = WAYS[ends];
  if (endpointOf(metadata) !== null) return null;
  return new ProviderFault('nonsense', `the provider publishes no usable ${endpointName}`);
}

/** Asks the provider, with one request, to end the refresh token or its session. Rejects with a `ProviderFault`. */
async function endAtProvider(
  refreshToken: string,
  ends: EndableThere,
  { secrets, ...parts }: EndDependencies,
): Promise<void> {
  const way = WAYS[ends];
  const url = way.endpointOf(parts.metadata) ?? '';
  const response = await postAsClient(url, way.formOf(refreshToken), parts);
  if (!way.isSuccess(response.status)) throw refusedBy(way.endpointName, response, secrets);
}
