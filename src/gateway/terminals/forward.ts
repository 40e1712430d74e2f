import type { ForwardRoute } from '../../config/index.ts';
import {
  type ByteStream,
  type FieldNames,
  type Fields,
  firstValue,
  GatewayError,
  type Release,
  type Timer,
} from '../../core/index.ts';
import type {
  CallSink,
  ConnectionOwner,
  Resender,
  Transport,
  TransportCall,
  UpstreamFailure,
} from '../../upstream/index.ts';
import type { WebCall } from '../../wire/grpc-web/index.ts';
import {
  askedAddress,
  type HttpVersion,
  keepResponseFields,
  partTrailersOnly,
  rewriteLocations,
  servicePath,
  type TokenPlaces,
} from '../../wire/http/index.ts';
import {
  authenticatesConnection,
  challengesConnection,
  type OutgoingRequest,
  withoutConnectionChallenges,
} from '../../wire/http1/index.ts';
import type { Exchange, Served, To, UpstreamLeg } from '../exchange/index.ts';
import { OwnedConnections, SERVED } from '../exchange/index.ts';
import { upstreamCapacity } from '../gates/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { addOwnFields, errors } from '../responses/index.ts';
import type { RequestGeneration } from '../runtime/index.ts';
import type { AwaitedBody } from './awaited-body.ts';
import type { BufferedBody } from './buffered-body.ts';
import { KeptBody } from './kept-body.ts';
import { translateDestination } from './moved-to.ts';
import { awaitedBody, bodyFor, bufferedBody } from './request-body.ts';
import { authorizationFor, fieldsFor } from './request-fields.ts';
import { fieldsOf429, UpstreamRefusal } from './upstream-refusal.ts';
import { openWebSocket } from './web-socket.ts';

const NO_FIELDS: Fields = [];
const NO_MARKS: readonly string[] = [];

/** Step 10: forwards the request to its upstream, and streams the response back. */
export function forward(exchange: Exchange, destination: To<'forward'>, state: GatewayState): Served {
  const { downstream, bodyLength, translation } = exchange;
  const { route, isPreflight } = destination;
  const { maxBytes } = route.body;
  if (maxBytes !== null && bodyLength !== 'chunked' && bodyLength > maxBytes)
    return exchange.answerError(errors.bodyTooLarge());
  const awaited = awaitedBody(exchange, route);
  const buffered = bufferedBody(exchange, route);
  const body = bodyFor(exchange, route, buffered ?? awaited);
  const forwardedLength = isPreflight ? 0 : bodyLength;
  const authorization = route.upstream.passAuthorization ? authorizationFor(exchange, destination) : null;
  const written = fieldsFor(exchange, destination, authorization, awaited !== null);
  const fields = translateDestination(exchange, destination, written);
  if (fields instanceof GatewayError) return exchange.answerError(fields);
  const path = servicePath(destination.sent, route);
  // A service could read the text after `//` as a host.
  if (path.startsWith('//'))
    return exchange.answerError(errors.badRequest('the path for the service begins with an empty segment'));
  const forwarding = new Forwarding(exchange, destination, state, {
    method: downstream.method,
    target: path + destination.query,
    fields,
    neverIndexed: downstream.neverIndexed,
    // The price may come as a trailer.
    takesTrailers: exchange.head.takesTrailers || translation !== null || hasPrice(exchange),
    upgrade: downstream.framing.upgrade,
    bodyLength: translation === null ? forwardedLength : translation.requestLength(forwardedLength),
    statesZero: downstream.framing.statesZero,
    body,
    firstByteTimeoutMs: route.firstByteTimeoutMs,
    idleTimeoutMs: route.idleTimeoutMs,
  });
  if (body instanceof KeptBody) forwarding.kept = body;
  if (route.upstream.balanceCookie !== null)
    forwarding.marks = marksIn(route.upstream.balanceCookie, downstream.fields);
  forwarding.awaited = awaited;
  forwarding.isPrivate = authenticatesConnection(authorization);
  exchange.upstreamLeg = forwarding;
  return buffered === null ? forwarding.send() : forwarding.sendBuffered(buffered);
}

/** Whether the response names the price of the request. */
function hasPrice({ ruling }: Exchange): boolean {
  return ruling !== null && ruling.price !== null;
}

/** Maximum time to wait for a body that is buffered. */
const BUFFERED_MS = 60_000;

/** The values that a client sent in the cookie of `balance`. */
function marksIn(cookie: TokenPlaces, fields: Fields): readonly string[] {
  return cookie.tokensIn({ query: '', fields, isWebSocket: false, cookies: true });
}

/** Returns the transport to an upstream of the generation's own snapshot. */
function transportTo({ transports }: RequestGeneration, upstream: string): Transport {
  const entry = transports.get(upstream);
  if (entry === undefined) throw new Error(`no transport to the upstream "${upstream}"`);
  return entry.part.transport;
}

/** Methods that are safe to repeat (RFC 9110, 9.2.2) and are sent again when an old connection dies. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
/** Whether a response with this status may challenge the client (RFC 9110, 15.5.2 and 15.5.8). */
function isChallenge(status: number): boolean {
  return status === 401 || status === 407;
}

const MAX_STATUS = 599;
const UPGRADE_REQUIRED = 426;
/** The failures of requests that the upstream has certainly not acted on. */
const UNPROCESSED: ReadonlySet<UpstreamFailure['kind']> = new Set([
  'connect',
  'unsent',
  'refused',
  'oversized',
]);
/** How many times a request is sent, if the upstream has certainly not acted on it. */
const MAX_ATTEMPTS = 3;
/** RFC 9110, 15.3.6: a 205 has no content. HTTP/1.1 would send one, HTTP/2 cannot. */
const RESET_CONTENT = 205;

/**
 * One exchange in progress between client and upstream. Parts of the response arrive by timers and socket events, where nothing
 * catches a fault of the gateway, and a transport would blame the upstream for it. So every method called by a transport catches
 * its own faults and ends the exchange.
 */
class Forwarding implements CallSink, UpstreamLeg {
  sentAtMs = 0;
  answeredAtMs: number | null = null;
  repeated = false;
  isPrivate = false;
  marks: readonly string[] = NO_MARKS;
  /** The request's body, if it can be sent again. */
  kept: KeptBody | null = null;
  /** The body, if its client waits until the service wants it. */
  awaited: AwaitedBody | null = null;
  #buffered: BufferedBody | null = null;
  #late: Timer | null = null;
  readonly #exchange: Exchange;
  readonly #route: ForwardRoute;
  #request: OutgoingRequest;
  readonly #transport: Transport;
  readonly #state: GatewayState;
  #call: TransportCall | null = null;
  #attempts = 0;
  /** True from when the request is sent until that fails, or is given up before the upstream knows of it. */
  #isSent = false;
  /** True if an attempt failed that the upstream may have acted on. */
  #hasActed = false;
  #isAbandoned = false;
  /** True while the client cannot take more. */
  #blocked = false;
  /** Receives the response instead of this sink if it is a 429, which must be examined first. */
  #refusal: UpstreamRefusal | null = null;

  constructor(exchange: Exchange, { route }: To<'forward'>, state: GatewayState, request: OutgoingRequest) {
    this.#exchange = exchange;
    this.#route = route;
    this.#request = request;
    this.#transport = transportTo(exchange.generation, route.upstream.name);
    this.#state = state;
  }

  get upstream(): string {
    return this.#route.upstream.name;
  }

  get endpoint(): string | null {
    return this.#call?.endpoint ?? null;
  }

  get mayHaveActed(): boolean {
    return this.#isSent || this.#hasActed;
  }

  get heldBytes(): number {
    return (this.#call?.heldBytes ?? 0) + (this.kept?.bytes ?? 0);
  }

  get owner(): ConnectionOwner | null {
    return this.#exchange.downstream.memory.owned;
  }

  /**
   * Step 10: sends the request. The transport then calls this sink until the end of the response, or calls `fail`. Either way the
   * exchange is answered.
   */
  send(): Served {
    this.sentAtMs = this.#state.clock.monotonicMs();
    this.#attempts++;
    this.#isSent = true;
    this.#follow(this.#transport.send(this.#request, this, this.#exchange.callerKey));
    return SERVED;
  }

  /** Step 10: reads the body first. Meanwhile, the place at the upstream is free for others. */
  sendBuffered(body: BufferedBody): Served {
    const exchange = this.#exchange;
    this.#buffered = body;
    exchange.upstreamPermit?.giveBack();
    exchange.upstreamPermit = null;
    const tooLate = () => exchange.fault(errors.bodyTooSlow());
    this.#late = exchange.clock.after(BUFFERED_MS, () => exchange.contain(tooLate));
    body.read();
    return SERVED;
  }

  /** Sends the request. Its body is buffered, or will be streamed. */
  bodyReady(): void {
    const exchange = this.#exchange;
    exchange.clock.cancel(this.#late);
    if (this.#isAbandoned || !exchange.response.isAwaited) return;
    // CGI, WSGI and PHP cannot read chunks, and would see an empty body.
    const bodyLength = this.#buffered?.wholeBytes ?? 0;
    if (bodyLength > 0) this.#request = { ...this.#request, bodyLength };
    upstreamCapacity(exchange, this.#state);
    if (exchange.noRoom === null) this.send();
    else exchange.answerError(exchange.noRoom.error);
  }

  /**
   * Takes the call that carries the request. The exchange may already have ended while the request was sent, because that reads
   * buffered body bytes, which may be incomplete or malformed.
   */
  #follow(call: TransportCall): void {
    this.#call = call;
    if (this.#isAbandoned) call.abort();
  }

  // Step 11: from here to `fail`, the transport delivers the response: either `whole`, or `head`, `data` and `end`.

  neverIndex(names: FieldNames): void {
    this.#exchange.contain(() => this.#exchange.downstream.neverIndex(names));
  }

  info(status: number, fields: Fields): void {
    this.#exchange.contain(() => this.#info(status, fields));
  }

  continues(): void {
    this.#exchange.contain(() => this.awaited?.begin());
  }

  whole(status: number, reason: string, fields: Fields, body: string): void {
    this.#exchange.contain(() => {
      const passed = this.#passable(status, fields);
      if (passed !== null) this.#whole(status, reason, passed, body);
    });
  }

  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void {
    this.#exchange.contain(() => {
      const passed = this.#passable(status, fields);
      if (passed !== null) this.#head(status, reason, passed, bodyLength);
    });
  }

  data(chunk: Buffer, release: Release | null): boolean {
    try {
      if (this.#refusal === null) {
        const more = this.#exchange.response.write(chunk, release);
        this.#blocked = !more;
        return more;
      }
      this.#refusal.data(chunk, release);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
    return true;
  }

  end(trailers: Fields): void {
    this.#exchange.contain(() => this.#end(this.#exchange.readPrice(trailers)));
  }

  switched(fields: Fields, stream: ByteStream): void {
    try {
      const answered = this.#exchange.readPrice(fields);
      // A WebSocket has no trailers.
      this.#exchange.priceUntold();
      const out = this.#fieldsBack(101, answered, false);
      const { fields: asked } = this.#request;
      openWebSocket(this.#exchange, this.#state, { asked, answered, out, stream });
    } catch (fault) {
      stream.destroy();
      this.#exchange.fault(fault);
    }
  }

  fail(failure: UpstreamFailure, resender?: Resender): void {
    this.#exchange.contain(() => this.#fail(failure, resender ?? null));
  }

  drained(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#call?.resume();
  }

  abandoned(): void {
    this.#isAbandoned = true;
    this.#isSent &&= this.#call?.isQueued !== true;
    this.#exchange.clock.cancel(this.#late);
    this.#buffered?.stop();
    this.awaited?.stop();
    this.#refusal?.stop();
    this.#call?.abort();
  }

  /** Returns the fields of a response that may be forwarded; `null` if it may not, and an error was sent instead. */
  #passable(status: number, answered: Fields): Fields | null {
    this.awaited?.stop();
    const fields = this.#exchange.readPrice(answered);
    if (isChallenge(status)) return this.#challenged(fields);
    // RFC 9110, 15: no status is above 599. HTTP/2 clients reset the stream, while HTTP/1.1 clients understand those that some
    // services use.
    if (status <= MAX_STATUS || this.#exchange.downstream.protocol === 'http1') return fields;
    this.#refuse(`it answered with the status ${status}, which clients of HTTP/2 do not accept`);
    return null;
  }

  /** Gives up the response and answers 502. */
  #refuse(cause: string): void {
    this.#call?.abort();
    this.#exchange.answerError(errors.upstreamFailed(cause));
  }

  /**
   * Handles challenges that authenticate the connection to the upstream: that connection belongs to the client's connection from
   * then on. If the client has no connection of its own, removes these challenges; if none is left, sends an error and returns
   * `null`.
   */
  #challenged(fields: Fields): Fields | null {
    if (!challengesConnection(fields)) return fields;
    const { downstream, head, snapshot } = this.#exchange;
    const { memory, peer, protocol, fields: asked } = downstream;
    const { upstream } = this.#route;
    // An unlisted proxy may also share one connection among many clients. Browsers send none of these fields.
    const isProxy =
      memory.trusts(peer, snapshot.trustedProxies) ||
      head.untrustedClaims ||
      firstValue(asked, 'via') !== undefined;
    if (upstream.protocol === 'http1' && protocol === 'http1' && !isProxy) {
      memory.owned ??= new OwnedConnections(this.#state.upstreamPermits, this.#exchange);
      this.isPrivate = true;
      return fields;
    }
    const h2 = protocol === 'http1' ? 'upstream_h2' : 'client_h2';
    const because = isProxy ? 'proxy' : h2;
    this.#state.listener.challengeRemoved({ upstream: upstream.name, because });
    const left = withoutConnectionChallenges(fields);
    if (left !== null) return left;
    this.#refuse('it only offers NTLM or Negotiate');
    return null;
  }

  #info(status: number, fields: Fields): void {
    const { downstream, sendsPolicies } = this.#exchange;
    if (downstream.version === '1.0') return;
    const { passesRateLimits: rateLimits } = this.#route;
    const policies = rateLimits || !sendsPolicies;
    const policy = { status, chunked: false, rateLimits, policies, cors: false };
    const kept = keepResponseFields(this.#exchange.withoutPrice(fields), policy);
    const { responseEdits, rewritesLocation } = this.#route;
    // A 104 contains the URL of a resumable upload.
    if (rewritesLocation) this.#rewriteLocations(kept);
    downstream.info(status, responseEdits === null ? kept : responseEdits.removeFrom(kept));
  }

  #whole(status: number, reason: string, fields: Fields, body: string): void {
    if (this.#exchange.translation !== null) {
      this.#translateWhole(status, reason, fields, body);
      return;
    }
    this.#refusal = this.#refusalOf(status, reason, fields);
    if (this.#refusal !== null) {
      this.#refusal.whole(body);
      return;
    }
    const out = this.#fieldsBack(status, fields, false);
    this.#exchange.response.finish('forwarded', status, reason, out, status === RESET_CONTENT ? '' : body);
  }

  /** Forwards a complete response in parts: it ends with a trailers frame, even if it consists of trailers only. */
  #translateWhole(status: number, reason: string, fields: Fields, body: string): void {
    const { dialect, response } = this.#exchange;
    dialect.noteEnd(response, fields);
    const { head, trailers } = body === '' ? partTrailersOnly(fields) : { head: fields, trailers: NO_FIELDS };
    this.#head(status, reason, head, null);
    if (response.error !== null) return;
    if (body !== '') response.write(Buffer.from(body, 'latin1'), null);
    const { responseEdits } = this.#route;
    this.#end(responseEdits === null ? trailers : responseEdits.removeFrom(trailers));
  }

  #head(status: number, reason: string, fields: Fields, bodyLength: number | null): void {
    const { translation } = this.#exchange;
    if (translation !== null) {
      this.#translateHead(translation, status, reason, fields);
      return;
    }
    if (status === RESET_CONTENT) {
      // The client gets no body, so do not wait for its end.
      this.#call?.abort();
      this.#whole(status, reason, fields, '');
      return;
    }
    this.#refusal = this.#refusalOf(status, reason, fields);
    if (this.#refusal !== null) {
      this.#refusal.head(bodyLength);
      return;
    }
    const { response, downstream } = this.#exchange;
    const isChunked = bodyLength === null && downstream.version !== '1.0';
    response.begin(status, reason, this.#fieldsBack(status, fields, isChunked));
  }

  #translateHead(translation: WebCall, status: number, reason: string, fields: Fields): void {
    const { response } = this.#exchange;
    if (translation.isAnswer(status, fields))
      response.begin(status, reason, this.#fieldsBack(status, translation.responseFields(fields), true));
    else this.#exchange.fault(errors.answeredWithoutGrpc(status));
  }

  #end(trailers: Fields): void {
    if (this.#refusal !== null) {
      this.#refusal.end();
      return;
    }
    const { dialect, response } = this.#exchange;
    dialect.noteEnd(response, trailers);
    const { head, translation } = this.#exchange;
    // The client did not ask for trailers; the gateway did, to learn the price.
    const isUnasked = dialect.protocol === null && hasPrice(this.#exchange) && !head.takesTrailers;
    const kept = isUnasked && translation === null ? NO_FIELDS : dialect.keepTrailers(trailers);
    const { responseEdits } = this.#route;
    // Operators may change only the head of a call.
    const isCall = dialect.protocol !== null;
    response.end(responseEdits === null || isCall ? kept : responseEdits.removeFrom(kept));
  }

  #fail(failure: UpstreamFailure, resender: Resender | null): void {
    this.#isSent = false;
    this.#hasActed ||= !UNPROCESSED.has(failure.kind);
    if (failure.kind === 'fault') {
      this.#exchange.fault(failure.cause);
    } else if (this.#refusal !== null) {
      this.#refusal.fail();
    } else if (!this.#repeat(failure, resender)) {
      this.awaited?.stop();
      this.#exchange.answerError(this.#errorOf(failure));
    }
  }

  /** Sends the request again if that is safe, to another endpoint if there is one. Returns whether it did. */
  #repeat(failure: UpstreamFailure, resender: Resender | null): boolean {
    if (!this.#mayRepeat(failure, resender !== null)) return false;
    if (resender === null) {
      const isCertain = failure.kind === 'refused' || failure.kind === 'unsent';
      if (this.#attempts >= (isCertain ? MAX_ATTEMPTS : 2)) return false;
      this.repeated = true;
      this.send();
      return true;
    }
    this.#isSent = true;
    const call = resender.resend(failure);
    this.#isSent &&= call !== null;
    if (call === null) return false;
    this.repeated = true;
    this.#follow(call);
    return true;
  }

  #errorOf(failure: UpstreamFailure): GatewayError {
    if (failure.kind === 'timeout') return errors.upstreamTooSlow(failure.cause);
    if (failure.kind === 'oversized') return errors.headTooLarge();
    return this.#exchange.dialect.upstreamFailed(failure);
  }

  /** The fields for the client in the upstream's response. */
  #fieldsBack(status: number, fields: Fields, chunked: boolean): string[] {
    this.answeredAtMs = this.#state.clock.monotonicMs();
    this.kept?.forget();
    const { dialect, response } = this.#exchange;
    if (this.#route.passesRateLimits) return this.#fieldsOfService(status, fields, chunked);
    if (status === 429)
      return fieldsOf429(this.#exchange, this.#via, rateLimits =>
        this.#keep(429, fields, chunked, rateLimits),
      );
    dialect.noteEnd(response, fields);
    const out = this.#keep(status, fields, chunked, false);
    // The service refuses this call by its own limit, while ours may have units left. As in a rewritten 429, do not blame the
    // caller.
    const rate = this.#exchange.rateFor(status);
    const report =
      rate === null || response.limitedBy === null ? rate : { ...rate, scope: 'shared' as const };
    addOwnFields(out, this.#exchange, report, this.#via);
    return out;
  }

  /** The fields of a response whose service reports its own limits to clients. */
  #fieldsOfService(status: number, fields: Fields, chunked: boolean): string[] {
    const { response } = this.#exchange;
    const isShared = firstValue(fields, 'x-ratelimit-scope')?.toLowerCase() === 'shared';
    if (status === 429) response.limitedBy = isShared ? 'shared' : 'user';
    const out = this.#keep(status, fields, chunked, true);
    addOwnFields(out, this.#exchange, null, this.#via);
    return out;
  }

  #keep(status: number, fields: Fields, chunked: boolean, rateLimits: boolean): string[] {
    const policies = rateLimits || !this.#exchange.sendsPolicies;
    const policy = { status, chunked, rateLimits, policies, cors: this.#passesCors() };
    const kept = keepResponseFields(fields, policy);
    const { responseEdits, rewritesLocation } = this.#route;
    if (rewritesLocation) this.#rewriteLocations(kept);
    if (status === UPGRADE_REQUIRED) this.#keepUpgrade(kept, fields);
    const out = responseEdits === null ? kept : responseEdits.applyToService(kept);
    this.#addCookie(out);
    return out;
  }

  /** Adds the cookie that keeps the client at the endpoint that answered, unless its own cookie already does. */
  #addCookie(out: string[]): void {
    const { balance } = this.#route.upstream;
    if (typeof balance === 'string') return;
    const mark = this.#call?.mark ?? null;
    if (mark === null || this.marks.includes(mark)) return;
    const { arrival, head, downstream } = this.#exchange;
    const { scheme } = askedAddress(head, arrival.hostAndPort, downstream.scheme);
    const secure = scheme === 'https' ? '; Secure' : '';
    out.push('Set-Cookie', `${balance.cookie}=${mark}; Path=/; HttpOnly; SameSite=Lax${secure}`);
  }

  /** RFC 9110, 15.5.22: a 426 names the protocols that the client needs. HTTP/2 has no upgrades. */
  #keepUpgrade(kept: string[], fields: Fields): void {
    const protocols = firstValue(fields, 'upgrade');
    if (protocols !== undefined && this.#exchange.downstream.version === '1.1')
      kept.push('Connection', 'Upgrade', 'Upgrade', protocols);
  }

  #rewriteLocations(fields: string[]): void {
    const { arrival, head, downstream } = this.#exchange;
    const { hostAndPort } = arrival;
    const { endpoints, hostHeader } = this.#route.upstream;
    rewriteLocations(fields, {
      paths: this.#route,
      endpoints,
      endpoint: this.#call?.endpoint ?? null,
      target: this.#request.target,
      host: hostHeader ?? hostAndPort,
      client: askedAddress(head, hostAndPort, downstream.scheme),
    });
  }

  #refusalOf(status: number, reason: string, fields: Fields): UpstreamRefusal | null {
    const { upstream429, passesRateLimits } = this.#route;
    if (status !== 429 || upstream429 !== 'rewrite' || passesRateLimits) return null;
    const exchange = this.#exchange;
    this.answeredAtMs = this.#state.clock.monotonicMs();
    const abort = () => this.#call?.abort();
    return new UpstreamRefusal({ exchange, reason, fields, cors: this.#passesCors(), via: this.#via, abort });
  }

  /** The upstream's version of HTTP, for `Via`. */
  get #via(): HttpVersion {
    return this.#route.upstream.protocol === 'http1' ? '1.1' : '2';
  }

  #passesCors(): boolean {
    return this.#exchange.snapshot.cors === null || !this.#route.cors;
  }

  /**
   * Whether the request may be sent again: only if the upstream cannot have acted on it, or if acting twice changes nothing. It
   * cannot have acted if no byte was sent, or if it says so; then a body that was begun must still be kept. Acting twice changes
   * nothing if the request is idempotent and has no body. Without another endpoint, the failure must also be the reset of a reused
   * connection, which may have been closed as idle. A service that resets a request on a new connection would do so again.
   */
  #mayRepeat({ kind, responseBegun, onReusedConnection }: UpstreamFailure, hasOthers: boolean): boolean {
    if (responseBegun) return false;
    const { body, method } = this.#request;
    if (kind === 'connect' || kind === 'refused' || kind === 'unsent')
      return body === null || !body.started || this.kept?.mayRestart === true;
    return kind === 'reset' && (onReusedConnection || hasOthers) && body === null && IDEMPOTENT.has(method);
  }
}
