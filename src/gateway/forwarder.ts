import type { ForwardRoute } from '../config/index.ts';
import { type BodySource, type Clock, type Fields, firstValue, type Release } from '../core/index.ts';
import { keepAnswerFields, keepTrailerFields, type RequestHead, upstreamFields } from '../http/index.ts';
import type { UpstreamRequest } from '../http1/index.ts';
import { transportTo } from '../runtime/index.ts';
import type { CallSink, Transport, TransportCall, UpstreamFailure } from '../upstream/index.ts';
import {
  addOwnFields,
  bodyTooLarge,
  contractScope,
  upstreamFailed,
  upstreamTooSlow,
} from './answers/index.ts';
import type { Exchange, Terminal } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { UpstreamRefusal } from './upstream-refusal.ts';

/** Methods whose repetition changes nothing (RFC 9110, 9.2.2) and that are sent again when an old connection dies. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** The terminal that serves an exchange by its upstream: the request goes out, the answer streams back. */
export function forward(
  exchange: Exchange,
  route: ForwardRoute,
  head: RequestHead,
  state: GatewayState,
): void {
  // 1. What the route and the upstream can take. The upstream's room was asked for by a gate.
  if (exchange.permitCaller === null) throw new Error('an exchange goes upstream without a permit');
  const { upstream } = route;
  const { maxBytes } = route.body;
  if (maxBytes !== null && exchange.bodyLength !== 'chunked' && exchange.bodyLength > maxBytes) {
    exchange.answerError(bodyTooLarge());
    return;
  }

  // 2. The request as the upstream will see it.
  const { downstream } = exchange;
  // Nobody has asked the sender of a preflight for a token, so it has no say beyond its fields.
  const bodyLength = exchange.isPreflight ? 0 : exchange.bodyLength;
  const body = bodyLength === 0 ? null : downstream.body(route.body);
  const request: UpstreamRequest = {
    method: downstream.method,
    target: exchange.path + exchange.query,
    fields: upstreamFields(head, {
      host: upstream.hostHeader ?? head.host ?? '',
      peer: downstream.peer,
      scheme: downstream.scheme,
      httpMinor: downstream.httpMinor,
      requestId: exchange.requestId,
      authorization: upstream.passAuthorization ? authorizationFor(exchange, route, head) : null,
      identity: exchange.caller?.identityFields ?? [],
      maxForwards: exchange.maxForwards === null ? null : exchange.maxForwards - 1,
    }),
    bodyLength,
    body,
    firstByteTimeoutMs: route.firstByteTimeoutMs,
    idleTimeoutMs: route.idleTimeoutMs,
  };

  // 3. Out it goes.
  const forwarding = new Forwarding(exchange, route, request, body, state);
  exchange.terminal = forwarding;
  forwarding.send();
}

/**
 * What the upstream is told of the token: where the gateway looks at tokens, the valid one in the standard scheme, else
 * nothing; where it does not, what the client sent. A preflight has none.
 */
function authorizationFor(exchange: Exchange, route: ForwardRoute, head: RequestHead): string | null {
  if (exchange.isPreflight) return null;
  if (route.authentication === 'none') return head.authorizationForHop ? null : head.authorization;
  return exchange.token === null ? null : `Bearer ${exchange.token}`;
}

/** One exchange under way between client and upstream. */
class Forwarding implements CallSink, Terminal {
  readonly #exchange: Exchange;
  readonly #request: UpstreamRequest;
  readonly #body: BodySource | null;
  readonly #route: ForwardRoute;
  readonly #transport: Transport;
  readonly #clock: Clock;
  #call: TransportCall | null = null;
  /** The client has as much as it can take for now. */
  #blocked = false;
  /** Takes the answer in this one's place: it is a 429, which may not pass unread. */
  #refusal: UpstreamRefusal | null = null;

  constructor(
    exchange: Exchange,
    route: ForwardRoute,
    request: UpstreamRequest,
    body: BodySource | null,
    state: GatewayState,
  ) {
    this.#exchange = exchange;
    this.#route = route;
    this.#request = request;
    this.#body = body;
    this.#transport = transportTo(exchange.generation, route.upstream);
    this.#clock = state.clock;
  }

  send(): void {
    const exchange = this.#exchange;
    exchange.sentUpstreamAtMs = this.#clock.monotonicMs();
    this.#call = this.#transport.send(this.#request, this);
  }

  info(status: number, fields: Fields): void {
    if (this.#exchange.downstream.httpMinor === 1) {
      const policy = { status, chunked: false, rateLimits: false, cors: false };
      this.#exchange.downstream.info(status, keepAnswerFields(fields, policy));
    }
  }

  whole(status: number, reason: string, fields: Fields, body: string): void {
    this.#refusal = this.#refusalOf(status, reason, fields);
    if (this.#refusal !== null) {
      this.#refusal.whole(body);
      return;
    }
    const out = this.#begin(status, fields, false);
    try {
      this.#exchange.sendWhole(status, reason, out, body, false);
      this.#exchange.outcome = 'forwarded';
    } catch (fault) {
      this.#unsendable(fault);
    }
  }

  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void {
    this.#refusal = this.#refusalOf(status, reason, fields);
    if (this.#refusal !== null) {
      this.#refusal.head(bodyLength);
      return;
    }
    const out = this.#begin(status, fields, bodyLength === null && this.#exchange.downstream.httpMinor === 1);
    try {
      this.#exchange.downstream.head(status, reason, out);
      this.#exchange.status = status;
    } catch (fault) {
      this.#unsendable(fault);
    }
  }

  data(chunk: Buffer, taken: Release | null): boolean {
    if (this.#refusal !== null) {
      this.#refusal.data(chunk, taken);
      return true;
    }
    this.#exchange.bytesSent += chunk.length;
    const more = this.#exchange.downstream.write(chunk, taken);
    this.#blocked = !more;
    return more;
  }

  end(trailers: Fields): void {
    if (this.#refusal !== null) {
      this.#refusal.end();
      return;
    }
    this.#exchange.outcome = 'forwarded';
    this.#exchange.downstream.end(keepTrailerFields(trailers));
  }

  fail(failure: UpstreamFailure): void {
    if (this.#refusal !== null) {
      this.#refusal.fail();
      return;
    }
    if (this.#mayRepeat(failure)) {
      this.#exchange.retried = true;
      this.send();
      return;
    }
    this.#exchange.answerError(
      failure.kind === 'timeout' ? upstreamTooSlow(failure.cause) : upstreamFailed(failure.cause),
    );
  }

  drained(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#call?.resume();
  }

  abandoned(): void {
    this.#refusal?.stop();
    this.#call?.abort();
  }

  /** The fields that go to the client with the upstream's answer. */
  #begin(status: number, fields: Fields, chunked: boolean): string[] {
    const exchange = this.#exchange;
    exchange.answeredUpstreamAtMs = this.#clock.monotonicMs();
    const policy = { status, chunked, cors: this.#passesCors() };
    let out = keepAnswerFields(fields, { ...policy, rateLimits: status === 429 });
    const spoken = status === 429 ? contractScope(out) : null;
    if (status === 429) exchange.refusedScope = spoken ?? exchange.rate?.scope ?? 'user';
    if (status === 429 && spoken === null) out = keepAnswerFields(fields, { ...policy, rateLimits: false });
    if (status === 429 && firstValue(out, 'cache-control') === undefined)
      out.push('Cache-Control', 'no-store');
    addOwnFields(out, exchange, { rate: spoken === null, via: true });
    return out;
  }

  #refusalOf(status: number, reason: string, fields: Fields): UpstreamRefusal | null {
    if (status !== 429 || this.#route.upstream429 !== 'rewrite') return null;
    const exchange = this.#exchange;
    exchange.answeredUpstreamAtMs = this.#clock.monotonicMs();
    const abort = () => this.#call?.abort();
    return new UpstreamRefusal({ exchange, reason, fields, cors: this.#passesCors(), abort });
  }

  #passesCors(): boolean {
    return this.#exchange.snapshot.cors === null || !this.#route.cors;
  }

  /** A head that cannot be written to the client, such as a status below 100 or control bytes in the reason phrase. */
  #unsendable(fault: unknown): void {
    this.#call?.abort();
    this.#exchange.answerError(upstreamFailed(fault));
  }

  /**
   * Once, and only where the upstream cannot have acted on the request: no connection was made; or it was reset on a
   * connection that had served others (the upstream may have closed it as idle), without a body and idempotent.
   */
  #mayRepeat(failure: UpstreamFailure): boolean {
    if (this.#exchange.retried || failure.answerBegun) return false;
    if (failure.kind === 'connect') return this.#body === null || !this.#body.started;
    return (
      failure.kind === 'reset' &&
      failure.onReusedConnection &&
      this.#body === null &&
      IDEMPOTENT.has(this.#request.method)
    );
  }
}
