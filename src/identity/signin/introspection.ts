import { hash } from 'node:crypto';
import { type Configuration, tokenIntrospection } from 'openid-client';
import type * as core from '../../core/index.ts';
import { GatewayError, RecentMap, retryAfterField } from '../../core/index.ts';
import { ProviderFault, type ProviderResponse } from './ask-provider.ts';
import { ProviderClient, ProviderRequests } from './client-request.ts';
import { type ErrorKind, type Failure, judgeFailure, type ProviderFailure } from './failures.ts';
import type { IntrospectionOptions } from './options.ts';
import type { Provider, ProviderMetadata } from './provider.ts';

interface IntrospectionDependencies {
  readonly provider: Provider;
  readonly clock: core.Clock;
  readonly listener: Pick<core.SignInListener, 'introspected'>;
  /** The permits of requests in flight, by client address. */
  readonly permits: core.Permits;
}

/** Whether the provider still considers a token valid. */
export type Activity = 'active' | 'inactive';

interface Known {
  readonly activity: Activity;
  /** When the request was sent, on the monotonic clock. The answer describes the state at that time. */
  readonly askedAtMs: number;
}

interface Failed {
  readonly error: GatewayError;
  readonly untilMs: number;
}

/**
 * How long a failure is remembered: as long as clients are told to wait. The gateway introspects before it applies limits, so
 * otherwise one token could cause a request to a failing provider each time.
 */
const FAILED_FOR_MS = 1_000;

type Ended = { readonly outcome: Activity; readonly error: null } | Failure<ProviderFailure>;

/**
 * Asks the provider whether a token is still valid there (RFC 7662), for routes that must learn at once that a session has ended.
 * Ask only about tokens whose signature was verified: the provider issued them, so nobody can cause requests with made-up tokens.
 * There is one request per token at a time; an answer is valid for as long as the route says.
 */
export class Introspection {
  readonly #parts: IntrospectionDependencies;
  readonly #client: ProviderClient;
  readonly #inFlight: ProviderRequests;
  /** Answers, failures and requests in progress, by the token's hash. */
  readonly #known: RecentMap<Known>;
  readonly #failed: RecentMap<Failed>;
  readonly #asked = new Map<string, Promise<Activity | GatewayError>>();

  constructor(options: IntrospectionOptions, parts: IntrospectionDependencies) {
    this.#parts = parts;
    this.#client = new ProviderClient(options, parts.provider);
    this.#inFlight = new ProviderRequests(options.maxInFlight, parts.permits);
    this.#known = new RecentMap(options.maxTokens);
    this.#failed = new RecentMap(options.maxTokens);
  }

  /**
   * Asks, or returns a recent answer. Never rejects. Cannot be cancelled, since others may wait for the same answer.
   *
   * @param maxAgeMs how old an answer may be
   * @param address the key of the client's address, which limits its share of the requests in progress
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
    const { metadata } = this.#client;
    if (metadata === undefined) return introspectionFailure('not_ready');
    if (metadata.introspectionEndpoint === null) {
      const missing = new ProviderFault('nonsense', `the provider publishes no usable ${ENDPOINT}`);
      return introspectionFailure('gateway_refused', missing);
    }
    try {
      return { outcome: await this.#answerTo(token, metadata), error: null };
    } catch (error) {
      // A refusal concerns the gateway: the only thing from the client in the request is a verified token.
      const { outcome, cause } = judgeFailure(error, 'introspection', 'gateway_refused');
      return introspectionFailure(outcome, cause);
    }
  }

  #answerTo(token: string, metadata: ProviderMetadata): Promise<Activity> {
    const request = {
      endpoint: ENDPOINT,
      url: metadata.introspectionEndpoint,
      successes: [200],
      secrets: [token],
      async send(configuration: Configuration): Promise<Activity> {
        const hint = { token_type_hint: 'access_token' };
        const { active } = await tokenIntrospection(configuration, token, hint);
        return active ? 'active' : 'inactive';
      },
      read: jsonResponse,
    };
    return this.#client.ask(request, metadata);
  }
}

const ENDPOINT = 'introspection_endpoint';

/** Refuses other media types (RFC 7662, 2.2): a proxy's page is not an answer. The library checks the member `active`. */
function jsonResponse({ mediaType, body }: ProviderResponse): Response {
  if (/^application\/(?:[a-z0-9.-]+\+)?json$/.test(mediaType)) return new Response(new Uint8Array(body));
  throw new ProviderFault('nonsense', `the response of the ${ENDPOINT} is not JSON`, { status: 200 });
}

type IntrospectionError = ErrorKind & { readonly message: string };

/**
 * The error while a token's state is unknown. Never 401: clients discard a token once told that it is invalid, and this one may
 * be valid.
 */
const UNDECIDED = {
  status: 503,
  side: 'provider',
  message: 'The token cannot be checked at the moment. Try again shortly.',
  fields: retryAfterField(1_000),
} satisfies IntrospectionError;

const FAULT = {
  status: 500,
  side: 'gateway',
  message: 'The token cannot be checked because of a fault in this service.',
} satisfies IntrospectionError;

/** The client's errors. */
const RESPONSES: Readonly<Record<ProviderFailure, IntrospectionError>> = {
  gateway_refused: FAULT,
  not_ready: UNDECIDED,
  overloaded: { ...UNDECIDED, side: 'gateway', cap: 'max_in_flight' },
  unreachable: UNDECIDED,
  timed_out: UNDECIDED,
  broken: UNDECIDED,
  fault: FAULT,
};

/** The failure with this outcome. `cause` is logged and must be safe for that. */
function introspectionFailure(outcome: ProviderFailure, cause?: Error): Failure<ProviderFailure> {
  return { outcome, error: new GatewayError({ ...RESPONSES[outcome], cause }) };
}
