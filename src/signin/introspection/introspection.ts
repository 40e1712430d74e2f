import { hash } from 'node:crypto';
import type { ClientAuth } from 'openid-client';
import {
  type Clock,
  GatewayError,
  type GatewayErrorOptions,
  type IntrospectionOutcome,
  RecentMap,
  RpcCode,
  type SignInListener,
} from '../../core/index.ts';
import { clientAuth } from '../client-authentication.ts';
import { InFlight } from '../in-flight.ts';
import type { IntrospectionOptions } from '../options.ts';
import { postAsClient } from '../post-as-client.ts';
import { type Provider, ProviderFault, type ProviderMetadata } from '../provider/index.ts';
import { jsonMembers, judge, refusedBy } from '../redeem/index.ts';

interface IntrospectionDependencies {
  readonly provider: Provider;
  readonly clock: Clock;
  readonly listener: Pick<SignInListener, 'introspected'>;
}

/** Whether the provider still holds a token valid. */
export type Activity = 'active' | 'inactive';

interface Known {
  readonly activity: Activity;
  /** When the question was sent, on the monotonic clock: what the provider learnt later may be missing. */
  readonly askedAtMs: number;
}

interface Failed {
  readonly error: GatewayError;
  readonly untilMs: number;
}

/**
 * As long as the response tells the client to wait. The question is asked before the limits, so that otherwise one token could make
 * the gateway ask as fast as a provider in trouble fails.
 */
const FAILED_FOR_MS = 1_000;

type Ended = { readonly outcome: Activity; readonly error: null } | IntrospectionFailure;

/**
 * Asks the provider whether a token is still valid there (RFC 7662), for routes that must know of a session's end at once. Only
 * for tokens whose signature was verified: their number is what the provider has issued, so nobody can make the gateway ask with
 * tokens of their own. One question per token at a time; an answer holds for as long as the route says.
 */
export class Introspection {
  readonly #options: IntrospectionOptions;
  readonly #parts: IntrospectionDependencies;
  readonly #authentication: ClientAuth;
  readonly #inFlight: InFlight;
  /** Keyed by the token's hash, as are questions under way. */
  readonly #known: RecentMap<Known>;
  readonly #failed: RecentMap<Failed>;
  readonly #asked = new Map<string, Promise<Activity | GatewayError>>();

  constructor(options: IntrospectionOptions, parts: IntrospectionDependencies) {
    this.#options = options;
    this.#parts = parts;
    this.#authentication = clientAuth(options.clientAuthentication);
    this.#inFlight = new InFlight(options.maxInFlight);
    this.#known = new RecentMap(options.maxTokens);
    this.#failed = new RecentMap(options.maxTokens);
  }

  /**
   * Never rejects. Cannot be cancelled: others may wait for the same answer.
   *
   * @param maxAgeMs how old an answer may be
   * @param address the key of the client's address, which limits its share of the questions under way
   */
  ask(
    token: string,
    maxAgeMs: number,
    address: string,
  ): Activity | GatewayError | Promise<Activity | GatewayError> {
    const key = hash('sha256', token, 'base64url');
    const nowMs = this.#parts.clock.monotonicMs();
    const known = this.#known.get(key);
    if (known !== undefined && nowMs - known.askedAtMs < maxAgeMs) return known.activity;
    const failed = this.#failed.get(key);
    if (failed !== undefined && nowMs < failed.untilMs) return failed.error;
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    if (!this.#inFlight.take(address)) return this.#told(introspectionFailure('overloaded'), 0);
    const answer = this.#ask(token, key).finally(() => {
      this.#asked.delete(key);
      this.#inFlight.giveBack(address);
    });
    this.#asked.set(key, answer);
    return answer;
  }

  async #ask(token: string, key: string): Promise<Activity | GatewayError> {
    const askedAtMs = this.#parts.clock.monotonicMs();
    const ended = await this.#endOf(token);
    const nowMs = this.#parts.clock.monotonicMs();
    if (ended.error === null) this.#known.set(key, { activity: ended.outcome, askedAtMs });
    else this.#failed.set(key, { error: ended.error, untilMs: nowMs + FAILED_FOR_MS });
    return this.#told(ended, nowMs - askedAtMs);
  }

  #told(ended: Ended, durationMs: number): Activity | GatewayError {
    this.#parts.listener.introspected({ ...ended, durationMs });
    return ended.error ?? ended.outcome;
  }

  async #endOf(token: string): Promise<Ended> {
    const { metadata } = this.#parts.provider;
    if (metadata === undefined) return introspectionFailure('not_ready');
    const { introspectionEndpoint: url } = metadata;
    if (url === null) return introspectionFailure('gateway_refused', noEndpoint());
    try {
      return { outcome: await this.#answerTo(token, url, metadata), error: null };
    } catch (error) {
      if (error instanceof ProviderFault) return introspectionFailure(outcomeOf(error), error);
      return introspectionFailure('fault', new Error('introspection failed in the gateway'));
    }
  }

  async #answerTo(token: string, url: string, metadata: ProviderMetadata): Promise<Activity> {
    const { clientId, clientAuthentication } = this.#options;
    const { options: provider } = this.#parts.provider;
    const parts = { metadata, provider, clientId, authentication: this.#authentication };
    const response = await postAsClient(url, { token, token_type_hint: 'access_token' }, parts);
    if (response.status !== 200) {
      const secrets = [token, 'secret' in clientAuthentication ? clientAuthentication.secret : ''];
      throw refusedBy(ENDPOINT, response, secrets);
    }
    // RFC 7662, 2.2: JSON, and the one member that is required. Anything else leaves the question open: a page of a proxy is no answer.
    const isJson = /^application\/(?:[a-z0-9.-]+\+)?json$/.test(response.mediaType);
    const active = isJson ? jsonMembers(response.body)?.get('active') : undefined;
    if (typeof active === 'boolean') return active ? 'active' : 'inactive';
    throw new ProviderFault(
      'nonsense',
      `the response of the ${ENDPOINT} is not JSON that says whether the token is active`,
      {
        status: 200,
      },
    );
  }
}

const ENDPOINT = 'introspection_endpoint';

function noEndpoint(): ProviderFault {
  return new ProviderFault('nonsense', `the provider publishes no usable ${ENDPOINT}`);
}

/** A provider that does not accept the request has refused the gateway: the request holds nothing of the client's but the token. */
function outcomeOf(fault: ProviderFault): IntrospectionFailure['outcome'] {
  const judgement = judge(fault);
  return judgement === 'grant_refused' ? 'gateway_refused' : judgement;
}

/** How asking the provider can fail. */
type FailedIntrospection = Exclude<IntrospectionOutcome, 'active' | 'inactive'>;

interface IntrospectionFailure {
  readonly outcome: FailedIntrospection;
  readonly error: GatewayError;
}

/** Never 401: clients discard a token that they are told is invalid, and this one may be valid. */
const UNDECIDED = {
  status: 503,
  rpcCode: RpcCode.unavailable,
  side: 'provider',
  message: 'The token cannot be checked at the moment. Try again shortly.',
  fields: ['Retry-After', '1'],
} satisfies Omit<GatewayErrorOptions, 'cause'>;

const FAULT = {
  status: 500,
  rpcCode: RpcCode.internal,
  side: 'gateway',
  message: 'The token cannot be checked because of a fault in this service.',
} satisfies Omit<GatewayErrorOptions, 'cause'>;

/** The client's responses. */
const RESPONSES: Readonly<Record<FailedIntrospection, Omit<GatewayErrorOptions, 'cause'>>> = {
  gateway_refused: FAULT,
  not_ready: UNDECIDED,
  overloaded: { ...UNDECIDED, side: 'gateway', cap: 'max_in_flight' },
  unreachable: UNDECIDED,
  timed_out: UNDECIDED,
  broken: UNDECIDED,
  fault: FAULT,
};

/** The failure with that outcome. `cause` goes to the log and must be safe there. */
function introspectionFailure(outcome: FailedIntrospection, cause?: Error): IntrospectionFailure {
  return { outcome, error: new GatewayError({ ...RESPONSES[outcome], cause }) };
}
