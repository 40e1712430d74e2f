import { type ByteStream, type FieldNames, type Fields, firstValue, type Release } from '../../core/index.ts';
import type { OutgoingRequest } from '../../wire/http1/index.ts';
import { ErrorCode } from '../../wire/http2/index.ts';
import type { CallSink, ConnectionOwner, Resender, TransportCall, UpstreamFailure } from '../transport.ts';
import { BrokenRequest, isOwnLack, SilentResponse } from '../transport.ts';
import type { Endpoint } from './endpoint.ts';

/** Maximum attempts to send one request, including failed connects. */
const MAX_ATTEMPTS = 3;
/** Answers that indicate trouble at the endpoint, or at something it depends on. */
const BAD_STATUS: ReadonlySet<number> = new Set([502, 503, 504]);
/** The gRPC status equivalent to 503: UNAVAILABLE. */
const GRPC_UNAVAILABLE = '14';

/** The state shared by the calls of an upstream. */
export interface CallShare {
  /** Whether the upstream speaks gRPC. */
  readonly isGrpc: boolean;
  nowMs(): number;
  /** Chooses an untried endpoint, if possible one that these cookie values name; `null` if there is none. */
  choose(caller: string, tried: readonly Endpoint[], marks: readonly string[]): Endpoint | null;
  /** Takes a retry from the budget; returns false if it is spent. */
  takeRetry(): boolean;
  /** Looks the addresses up again because no connection could be made to this endpoint. */
  suspect(failed: Endpoint): void;
  /**
   * Looks the addresses up again for a waiting request; `null` if there is no endpoint at all. Calls back when the request may
   * continue, immediately if a lookup would find nothing new. Returns a function that stops the wait.
   */
  lookAgain(failed: Endpoint | null, then: () => void): () => void;
  noEndpoint(): Error;
}

/** The attempts of a request so far. */
interface Attempts {
  readonly tried: readonly Endpoint[];
  /** Whether bytes of the request may have been sent to one of `tried`. */
  readonly mayHaveArrived: boolean;
}

const FIRST: Attempts = { tried: [], mayHaveArrived: false };
const NOTHING = () => {};
const NO_MARKS: readonly string[] = [];

/** One attempt to have a request answered by an endpoint. Reports the outcome to the balancer and to the endpoint's health. */
export class EndpointCall implements CallSink, TransportCall, Resender {
  readonly #share: CallShare;
  readonly #request: OutgoingRequest;
  readonly #sink: CallSink;
  readonly #caller: string;
  readonly #before: Attempts;
  #endpoint: Endpoint | null = null;
  #call: TransportCall | null = null;
  #isOver = false;
  /** True if the endpoint answered with a status that indicates trouble. */
  #isBad = false;
  #stopWaiting = NOTHING;

  constructor(
    share: CallShare,
    request: OutgoingRequest,
    sink: CallSink,
    caller: string,
    before: Attempts = FIRST,
  ) {
    this.#share = share;
    this.#request = request;
    this.#sink = sink;
    this.#caller = caller;
    this.#before = before;
  }

  get endpoint(): string | null {
    return this.#endpoint === null ? null : this.#endpoint.name;
  }

  get mark(): string | null {
    return this.#endpoint === null ? null : this.#endpoint.mark;
  }

  get heldBytes(): number {
    return this.#call?.heldBytes ?? 0;
  }

  get isQueued(): boolean {
    return this.#call === null || this.#call.isQueued === true;
  }

  get owner(): ConnectionOwner | null {
    return this.#sink.owner ?? null;
  }

  get isPrivate(): boolean {
    return this.#sink.isPrivate === true;
  }

  /** Sends the request to this endpoint. If there is none, waits for one. */
  start(endpoint: Endpoint | null): this {
    if (endpoint !== null) this.#sendTo(endpoint);
    else this.#wait(null, () => this.#sendOrFail(this.#choose(), this.#share.noEndpoint()));
    return this;
  }

  resume(): void {
    this.#call?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#call?.abort();
  }

  /** Called after this call has failed, and only if it is safe to send the request again. */
  resend(failure: UpstreamFailure): TransportCall | null {
    const failed = this.#endpoint;
    const { tried, mayHaveArrived } = this.#before;
    const { kind } = failure;
    const isConnect = kind === 'connect';
    const isUnsent = isConnect || kind === 'unsent';
    if (failed === null || tried.length + 1 >= MAX_ATTEMPTS || (mayHaveArrived && !isUnsent)) return null;
    const attempts = {
      tried: [...tried, failed],
      mayHaveArrived: mayHaveArrived || !isUnsent,
    };
    const next = new EndpointCall(this.#share, this.#request, this.#sink, this.#caller, attempts);
    const other = next.#choose();
    // Without another endpoint, the same one may get the request again: it may have closed an idle connection, or just have
    // restarted.
    const same = tried.length === 0 ? failed : null;
    if (other !== null) {
      if (isConnect && !isOwnLack(failure.cause)) this.#share.suspect(failed);
      else if (kind !== 'unsent' && !this.#share.takeRetry()) return null;
      next.#sendTo(other);
    } else if (isConnect) {
      const suspect = isOwnLack(failure.cause) ? null : failed;
      next.#wait(suspect, () => next.#sendOrFail(next.#choose() ?? same, failure.cause));
    } else if (same !== null && (kind === 'refused' || kind === 'unsent' || failure.onReusedConnection)) {
      next.#sendTo(same);
    } else return null;
    return next;
  }

  info(status: number, fields: Fields): void {
    this.#sink.info(status, fields);
  }

  continues(): void {
    this.#sink.continues?.();
  }

  neverIndex(names: FieldNames): void {
    this.#sink.neverIndex(names);
  }

  whole(status: number, reason: string, fields: Fields, body: string): void {
    this.#judge(status);
    this.#end(fields);
    this.#sink.whole(status, reason, fields, body);
  }

  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void {
    this.#judge(status);
    this.#sink.head(status, reason, fields, bodyLength);
  }

  data(chunk: Buffer, release: Release | null): boolean {
    return this.#sink.data(chunk, release);
  }

  end(trailers: Fields): void {
    this.#end(trailers);
    this.#sink.end(trailers);
  }

  switched(fields: Fields, stream: ByteStream): void {
    this.#handOver(stream);
    this.#sink.switched(fields, stream);
  }

  fail(failure: UpstreamFailure): void {
    if (this.#isOver) return;
    this.#blame(failure);
    this.#finish();
    this.#sink.fail(failure, this);
  }

  #sendTo(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    endpoint.began();
    this.#call = endpoint.pool.send(this.#request, this, this.#caller);
  }

  #choose(): Endpoint | null {
    return this.#share.choose(this.#caller, this.#before.tried, this.#sink.marks ?? NO_MARKS);
  }

  /** Waits until the addresses have been looked up again. */
  #wait(failed: Endpoint | null, then: () => void): void {
    this.#stopWaiting = this.#share.lookAgain(failed, then);
  }

  #sendOrFail(endpoint: Endpoint | null, cause: unknown): void {
    if (endpoint !== null) {
      this.#sendTo(endpoint);
      return;
    }
    this.#isOver = true;
    const failure = { onReusedConnection: false, responseBegun: false, resetCode: null };
    this.#sink.fail({ ...failure, kind: 'connect', cause }, this);
  }

  /** Records what the head says about the endpoint. */
  #judge(status: number): void {
    if (this.#endpoint === null) return;
    if (BAD_STATUS.has(status)) this.#noteBadAnswer(this.#endpoint);
    else this.#endpoint.health.reached();
  }

  /** Ends the attempt when the response is over. */
  #end(last: Fields): void {
    const endpoint = this.#endpoint;
    if (endpoint === null || this.#isOver) return;
    if (this.#share.isGrpc && firstValue(last, 'grpc-status') === GRPC_UNAVAILABLE)
      this.#noteBadAnswer(endpoint);
    if (!this.#isBad) endpoint.health.answeredWell();
    this.#finish();
  }

  /** Ends the attempt. The connection still counts for its endpoint as long as it lasts. */
  #handOver(stream: ByteStream): void {
    const endpoint = this.#endpoint;
    if (endpoint === null || this.#isOver) return;
    this.#isOver = true;
    endpoint.health.answeredWell();
    stream.whenGone(() => endpoint.ended());
  }

  #noteBadAnswer(endpoint: Endpoint): void {
    if (this.#isBad) return;
    this.#isBad = true;
    const nowMs = this.#share.nowMs();
    endpoint.failed(nowMs);
    endpoint.health.answeredBadly(null, nowMs);
  }

  #blame(failure: UpstreamFailure): void {
    const endpoint = this.#endpoint;
    if (endpoint === null || this.#isBad) return;
    const { kind, cause } = failure;
    if (kind === 'oversized' || kind === 'fault' || kind === 'unsent' || cause instanceof BrokenRequest)
      return;
    if (kind === 'connect' && isOwnLack(cause)) return;
    const nowMs = this.#share.nowMs();
    endpoint.failed(nowMs);
    if (kind === 'connect') endpoint.health.connectFailed(cause, nowMs);
    else if (isEndpointsFault(failure)) endpoint.health.answeredBadly(cause, nowMs);
  }

  #finish(): void {
    this.#isOver = true;
    this.#stopWaiting();
    this.#endpoint?.ended();
  }
}

/**
 * True if a failure counts against the endpoint. Not a failure of only this request, such as a gRPC call whose deadline has passed:
 * clients could cause that. Nor if it refused the request unread, closed an idle connection, or was silent on a stream.
 */
function isEndpointsFault(failure: UpstreamFailure): boolean {
  const { kind, onReusedConnection, responseBegun, resetCode, cause } = failure;
  if (resetCode !== null) return resetCode === ErrorCode.INTERNAL_ERROR;
  if (kind === 'refused' || cause instanceof SilentResponse) return false;
  return kind !== 'reset' || !onReusedConnection || responseBegun;
}
