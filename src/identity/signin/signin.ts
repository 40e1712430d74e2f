import {
  type Clock,
  GatewayError,
  type GrantKind,
  type Permits,
  type SignInListener,
} from '../../core/index.ts';
import { authorizeUrl, chosenParameters } from './authorization-url.ts';
import { ProviderClient, ProviderRequests } from './client-request.ts';
import { type FailedOutcome, type Failure, failure, failureOf, noLoginPageYet } from './failures.ts';
import type { SignInOptions } from './options.ts';
import type { Provider, ProviderMetadata } from './provider.ts';
import type { Grant } from './read-request.ts';
import { codeGrant, readRefreshToken, readRequest, redirectRefusal, refreshGrant } from './read-request.ts';
import { RedirectUris } from './redirect-uris.ts';
import { SignOut } from './sign-out.ts';
import { type LearntMark, readTokenResponse, requestTokens } from './token-request.ts';

export interface SignInResponse {
  /** 204 has no body. */
  readonly status: 200 | 204;
  /** All fields except those about length and connection: `Content-Type`, and `Cache-Control` with tokens. */
  readonly fields: readonly string[];
  /** JSON in UTF-8. */
  readonly body: Buffer;
}

interface SignInDependencies {
  readonly provider: Provider;
  readonly clock: Clock;
  readonly listener: Pick<SignInListener, 'redeemed' | 'signedOut'>;
  /** The permits of requests to the provider, by client address. */
  readonly permits: Permits;
  /** Called when tokens arrive with a not-before mark above 0, before the client gets them. */
  readonly learnedMark: (mark: LearntMark) => void;
  /** Called with each access token that a client gets. Default: does nothing. */
  readonly handedOut?: (accessToken: string) => void;
}

const SIGNED_OUT: SignInResponse = { status: 204, fields: [], body: Buffer.alloc(0) };

type Ended =
  | { readonly outcome: 'success'; readonly response: SignInResponse }
  | Failure<FailedOutcome>
  | { readonly outcome: 'bad_body'; readonly error: GatewayError };

const JSON_FIELDS = ['Content-Type', 'application/json'] as const;
/** A proof that may be passed on: the provider checks it. */
const PROOF = /^(?=.{1,8192}$)[\w-]+\.[\w-]+\.[\w-]+$/;
/** Tokens must not be cached (RFC 6749, 5.1). */
const TOKEN_FIELDS = [...JSON_FIELDS, 'Cache-Control', 'no-store'] as const;

/**
 * The sign-in endpoints (docs/contract.md, 1). One per configuration; the provider is injected because it outlives a reload. The
 * constructor throws a `TypeError` for options in which `optionErrors` finds an error.
 */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #parts: SignInDependencies;
  readonly #client: ProviderClient;
  readonly #redirects: RedirectUris | undefined;
  readonly #inFlight: ProviderRequests;
  readonly #signOut: SignOut;

  constructor(options: SignInOptions, parts: SignInDependencies) {
    this.#options = options;
    this.#parts = parts;
    const { provider, clock, listener, permits } = parts;
    const inFlight = new ProviderRequests(options.maxInFlight, permits);
    const client = new ProviderClient(options, provider);
    this.#inFlight = inFlight;
    this.#client = client;
    this.#signOut = new SignOut(options.signOutEnds, { clock, listener, client, inFlight });
    this.#redirects =
      options.redirectAllowList === null
        ? undefined
        : new RedirectUris([...options.redirectAllowList, options.redirectUri]);
  }

  /** The provider where users sign in. */
  get issuer(): string {
    return this.#parts.provider.options.issuer;
  }

  /** `GET /v1/anonymous/authorize-url`, with the parameters of the query that clients may choose. */
  authorizeUrl(query = ''): SignInResponse | GatewayError {
    const { metadata } = this.#client;
    if (metadata === undefined) return noLoginPageYet();
    const chosen = chosenParameters(query, this.#options.authorizationParameters);
    if (chosen instanceof GatewayError) return chosen;
    const url = authorizeUrl(metadata, this.#options, chosen);
    return { status: 200, fields: JSON_FIELDS, body: json({ url }) };
  }

  /**
   * `POST /v1/anonymous/auth`: exchanges the code in the body for tokens. Never rejects. Cannot be cancelled: it runs to its end,
   * for the provider's timeout at most, whether or not the client is still waiting.
   *
   * @param address the key of the client's address, which limits its share of the requests in flight
   * @param proof the client's proof for the provider (RFC 9449, 5); '' if it sent several, `null` if none
   */
  redeem(body: Buffer, address: string, proof: string | null = null): Promise<SignInResponse | GatewayError> {
    return this.#announce('code', () => this.#redeem(this.#codeGrantIn(body), address, proof));
  }

  /** The path `sign_in.refresh`: exchanges the refresh token in the body for new tokens, in the same way. */
  refresh(
    body: Buffer,
    address: string,
    proof: string | null = null,
  ): Promise<SignInResponse | GatewayError> {
    return this.#announce('refresh_token', () => this.#redeem(refreshGrantIn(body), address, proof));
  }

  /**
   * The path `sign_in.sign_out`: ends the refresh token in the body at the provider, in the same way.
   *
   * @param endSession ends the client's session in the gateways: see `SignOut.run`
   */
  async signOut(
    body: Buffer,
    address: string,
    endSession: () => Promise<void>,
  ): Promise<SignInResponse | GatewayError> {
    return (await this.#signOut.run(body, address, endSession)) ?? SIGNED_OUT;
  }

  async #announce(grant: GrantKind, attempt: () => Promise<Ended>): Promise<SignInResponse | GatewayError> {
    const startedMs = this.#parts.clock.monotonicMs();
    const ended = await attempt();
    const error = ended.outcome === 'success' ? null : ended.error;
    const durationMs = this.#parts.clock.monotonicMs() - startedMs;
    this.#parts.listener.redeemed({ grant, outcome: ended.outcome, durationMs, error });
    return ended.outcome === 'success' ? ended.response : ended.error;
  }

  #codeGrantIn(body: Buffer): Grant | GatewayError {
    const request = readRequest(body);
    if (request instanceof GatewayError) return request;
    return this.#redirects?.allows(request.redirectUri) === false ? redirectRefusal() : codeGrant(request);
  }

  async #redeem(grant: Grant | GatewayError, address: string, proof: string | null): Promise<Ended> {
    if (grant instanceof GatewayError) return { outcome: 'bad_body', error: grant };
    if (proof !== null && !PROOF.test(proof)) return failure(grant.kind, 'proof_refused');
    const { metadata } = this.#client;
    if (metadata === undefined) return failure(grant.kind, 'not_ready');
    if (!this.#inFlight.take(address)) return failure(grant.kind, 'overloaded');
    try {
      return await this.#trade({ ...grant, proof }, metadata);
    } catch (error) {
      return failureOf(grant.kind, error, proof !== null);
    } finally {
      this.#inFlight.giveBack(address);
    }
  }

  async #trade(grant: Grant & { readonly proof: string | null }, metadata: ProviderMetadata): Promise<Ended> {
    const { members, dpopNonce } = await requestTokens(
      grant,
      this.#options.authorizationParameters,
      this.#client,
      metadata,
    );
    const nowSeconds = this.#parts.clock.epochMs() / 1_000;
    const { response, mark } = readTokenResponse(
      members,
      this.#options.scope,
      nowSeconds,
      grant.proof !== null,
    );
    if (mark !== undefined) this.#parts.learnedMark(mark);
    this.#parts.handedOut?.(response.accessToken);
    const fields = dpopNonce === null ? TOKEN_FIELDS : [...TOKEN_FIELDS, 'DPoP-Nonce', dpopNonce];
    return { outcome: 'success', response: { status: 200, fields, body: json(response) } };
  }
}

function refreshGrantIn(body: Buffer): Grant | GatewayError {
  const token = readRefreshToken(body);
  return token instanceof GatewayError ? token : refreshGrant(token);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
