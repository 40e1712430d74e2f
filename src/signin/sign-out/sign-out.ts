import type { ClientAuth } from 'openid-client';
import { type Clock, GatewayError, type SignInListener } from '../../core/index.ts';
import type { InFlight } from '../in-flight.ts';
import type { SignInOptions } from '../options.ts';
import { type Provider, ProviderFault } from '../provider/index.ts';
import { judge, readRefreshToken } from '../redeem/index.ts';
import { type EndableThere, endAtProvider, whyNoEnd } from './end-at-provider.ts';
import { type SignOutFailure, signOutFailure } from './failures.ts';

export interface SignOutDependencies {
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
