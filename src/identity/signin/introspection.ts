import { type Configuration, tokenIntrospection } from 'openid-client';
import type * as core from '../../core/index.ts';
import { GatewayError, hashOfToken, RecentMap, retryAfterField } from '../../core/index.ts';
import { jsonMembers, ProviderFault, type ProviderResponse, saysInvalid } from './ask-provider.ts';
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
  /**
   * Asks the main thread, which answers all threads with its own `answer`; resolves to `null` if it cannot. `null` in the thread
   * that asks the provider itself.
   */
  readonly elsewhere: ((asked: SharedQuestion) => Promise<SharedAnswer | null>) | null;
}

/** What a thread asks the main thread about a token. */
export interface SharedQuestion extends Pick<QuestionLimits, 'address' | 'maxAgeMs'> {
  readonly token: string;
}

interface QuestionLimits {
  /** `null` if no client waits. */
  readonly address: string | null;
  /** How old the answer may be. */
  readonly maxAgeMs: number;
}

/** The main thread's answer to another thread. A failure comes without its cause, which the main thread logs. */
export type SharedAnswer = core.TokenAnswer | (Omit<Unknown, 'error'> & Pick<GatewayError, 'fields'>);

/** Whether the provider still considers a token valid. */
export type Activity = 'active' | 'inactive';

interface Known {
  readonly activity: Activity;
  /** When the request was sent, on the monotonic clock. The answer describes the state at that time. */
  readonly askedAtMs: number;
}

interface Unknown extends core.NoAnswer {
  readonly outcome: ProviderFailure;
}

interface Failed extends Unknown {
  readonly untilMs: number;
}

type Told = core.TokenAnswer | Unknown;

/**
 * How long a failure is remembered: as long as clients are told to wait. The gateway introspects before it applies limits, so
 * otherwise every request with the token would cause another one to a failing provider.
 */
const FAILED_FOR_MS = 1_000;

/** The longest time for which no question is sent because the provider asks for fewer (`Retry-After`). */
const MAX_PAUSE_MS = 30_000;

/** Failures before any part of the token was sent. */
const UNSENT: ReadonlySet<string> = new Set<ProviderFailure>(['not_ready', 'overloaded', 'unreachable']);

const INACTIVE: Ended = { outcome: 'inactive', error: null, members: null };

type Ended =
  | { readonly outcome: Activity; readonly error: null; readonly members: core.TokenAnswer['members'] }
  | (Failure<ProviderFailure> & { readonly members?: never });

/**
 * Asks the provider whether a token is still valid there (RFC 7662). There is at most one request per token at a time: with several
 * threads, the main one sends it, and shares the answer until it is too old.
 *
 * `ask` is for routes that must notice at once that a session has ended. It takes only tokens whose signature was verified, so
 * made-up tokens cause no requests. `question` is for opaque tokens; `OpaqueVerifier` limits how many requests an address can
 * cause.
 */
export class Introspection {
  readonly #parts: IntrospectionDependencies;
  readonly #client: ProviderClient;
  readonly #inFlight: ProviderRequests;
  /** Answers, failures and requests in progress, by the token's hash. */
  readonly #known: RecentMap<Known>;
  readonly #failed: RecentMap<Failed>;
  /** The provider's answers about active tokens, for the other threads (only in the main thread). */
  readonly #answers: RecentMap<core.TokenAnswer>;
  readonly #asked = new Map<string, Promise<Told>>();
  /** The end of the pause that the provider asked for, on the monotonic clock. */
  #pausedUntilMs = 0;

  constructor(options: IntrospectionOptions, parts: IntrospectionDependencies) {
    this.#parts = parts;
    this.#client = new ProviderClient(options, parts.provider);
    this.#inFlight = new ProviderRequests(options.maxInFlight, parts.permits);
    this.#known = new RecentMap(options.maxTokens);
    this.#failed = new RecentMap(options.maxTokens);
    this.#answers = new RecentMap(options.maxTokens);
  }

  /**
   * Asks whether a token is valid, or returns a recent answer. Never rejects. Cannot be cancelled, since others may wait for the
   * same answer.
   *
   * @param maxAgeMs how old an answer may be
   * @param address the key of the client's address, which limits its share of the requests in progress
   */
  ask(
    token: string,
    maxAgeMs: number,
    address: string,
  ): Activity | GatewayError | Promise<Activity | GatewayError> {
    const key = hashOfToken(token);
    const known = this.#known.get(key);
    if (known !== undefined && this.#parts.clock.monotonicMs() - known.askedAtMs < maxAgeMs)
      return known.activity;
    const told = this.#question(token, key, { address, maxAgeMs });
    return told instanceof Promise ? told.then(each => this.#know(key, each)) : this.#know(key, told);
  }

  /**
   * As `ask`, but returns the whole answer. Remembers only failures.
   *
   * @param address `null` if no client waits: such requests have one share together, and no error when it is used up
   * @param maxAgeMs how old the answer may be
   */
  question(
    token: string,
    address: string | null,
    maxAgeMs: number,
  ): core.TokenReply | Promise<core.TokenReply> {
    return this.#question(token, hashOfToken(token), { address, maxAgeMs });
  }

  /** Answers another thread. Never rejects. */
  async answer({ token, ...limits }: SharedQuestion): Promise<SharedAnswer> {
    const key = hashOfToken(token);
    const known = this.#answers.get(key);
    if (known !== undefined && this.#parts.clock.monotonicMs() - known.askedAtMs < limits.maxAgeMs)
      return known;
    const told = await this.#question(token, key, limits);
    if ('error' in told) return { outcome: told.outcome, reached: told.reached, fields: told.error.fields };
    if (told.members === null) this.#answers.delete(key);
    else this.#answers.set(key, told);
    return told;
  }

  #question(token: string, key: string, limits: QuestionLimits): Told | Promise<Told> {
    const failed = this.#failed.get(key);
    if (failed !== undefined && this.#parts.clock.monotonicMs() < failed.untilMs) return failed;
    const { elsewhere } = this.#parts;
    if (elsewhere === null) return this.#questionHere(token, key, limits.address);
    return elsewhere({ token, ...limits }).then(told => {
      if (told === null) return this.#questionHere(token, key, limits.address);
      if (!('outcome' in told)) return told;
      const { fields, ...failed } = told;
      return { ...failed, error: new GatewayError({ ...RESPONSES[told.outcome], fields }) };
    });
  }

  #questionHere(token: string, key: string, address: string | null): Told | Promise<Told> {
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const share = address ?? '';
    if (!this.#inFlight.take(share)) {
      const full = introspectionFailure('overloaded');
      return address === null ? { ...full, reached: false } : this.#reported(full, 0, 0);
    }
    const answer = this.#ask(token, key).finally(() => {
      this.#asked.delete(key);
      this.#inFlight.giveBack(share);
    });
    this.#asked.set(key, answer);
    return answer;
  }

  async #ask(token: string, key: string): Promise<Told> {
    const askedAtMs = this.#parts.clock.monotonicMs();
    const ended = await this.#endOf(token);
    const nowMs = this.#parts.clock.monotonicMs();
    const told = this.#reported(ended, askedAtMs, nowMs - askedAtMs);
    if ('error' in told) this.#failed.set(key, { ...told, untilMs: nowMs + FAILED_FOR_MS });
    return told;
  }

  #know(key: string, told: core.TokenReply): Activity | GatewayError {
    if ('error' in told) return told.error;
    const activity = told.members === null ? 'inactive' : 'active';
    this.#known.set(key, { activity, askedAtMs: told.askedAtMs });
    return activity;
  }

  #reported(ended: Ended, askedAtMs: number, durationMs: number): Told {
    const { outcome, error } = ended;
    this.#parts.listener.introspected({ outcome, error, durationMs });
    if (ended.error === null) return { members: ended.members ?? null, askedAtMs };
    return { outcome: ended.outcome, error: ended.error, reached: !UNSENT.has(outcome) };
  }

  async #endOf(token: string): Promise<Ended> {
    const { metadata } = this.#client;
    const { clock } = this.#parts;
    const pauseMs = this.#pausedUntilMs - clock.monotonicMs();
    if (pauseMs > 0) return introspectionFailure('not_ready', undefined, pauseMs);
    if (metadata === undefined) return introspectionFailure('not_ready');
    if (metadata.introspectionEndpoint === null) {
      const missing = new ProviderFault('nonsense', `the provider publishes no usable ${ENDPOINT}`);
      return introspectionFailure('gateway_refused', missing);
    }
    try {
      const members = await this.#answerTo(token, metadata);
      return { outcome: members === null ? 'inactive' : 'active', error: null, members };
    } catch (error) {
      // Other providers use `active` for this (RFC 7662, 2.2), older oxAuth this error. With a 401, the error is about the gateway
      // (RFC 6750, 3.1).
      if (saysInvalid(error) && error.status !== 401) return INACTIVE;
      // A refusal concerns the gateway: the only thing from the client in the request is the token.
      const { outcome, cause } = judgeFailure(error, 'introspection', 'gateway_refused');
      const waitMs = Math.min(error instanceof ProviderFault ? error.throttledForMs : 0, MAX_PAUSE_MS);
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, clock.monotonicMs() + waitMs);
      return introspectionFailure(outcome, cause, waitMs);
    }
  }

  #answerTo(token: string, metadata: ProviderMetadata): Promise<core.TokenAnswer['members']> {
    const request = {
      endpoint: ENDPOINT,
      url: metadata.introspectionEndpoint,
      secrets: [token],
      async send(configuration: Configuration): Promise<core.TokenAnswer['members']> {
        const hint = { token_type_hint: 'access_token' };
        const members = await tokenIntrospection(configuration, token, hint);
        return members.active ? members : null;
      },
      read: jsonResponse,
    };
    return this.#client.ask(request, metadata);
  }
}

const ENDPOINT = 'introspection_endpoint';

/** Refuses other media types (RFC 7662, 2.2): a proxy's page is not an answer. */
function jsonResponse({ mediaType, body }: ProviderResponse): Response {
  const unusable = (why: string) =>
    new ProviderFault('nonsense', `the response of the ${ENDPOINT} ${why}`, { status: 200 });
  if (!/^application\/(?:[a-z0-9.-]+\+)?json$/.test(mediaType)) throw unusable('is not JSON');
  if (typeof jsonMembers(body)?.get('active') !== 'boolean')
    throw unusable('has no member active that is true or false');
  return new Response(new Uint8Array(body));
}

type IntrospectionError = ErrorKind & { readonly message: string };

/** The error while a token's state is unknown. Never 401: clients discard a token after a 401, and this one may be valid. */
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
function introspectionFailure(outcome: ProviderFailure, cause?: Error, waitMs = 0): Failure<ProviderFailure> {
  const fields = waitMs > 0 && { fields: retryAfterField(waitMs) };
  return { outcome, error: new GatewayError({ ...RESPONSES[outcome], ...fields, cause }) };
}
