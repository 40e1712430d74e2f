import type { RouteModel } from '../config/index.ts';
import type { Fields } from '../core/index.ts';
import { keepAnswerFields, type RequestHead, upstreamFields } from '../http/index.ts';
import type {
  AnswerSink,
  BodySource,
  Taken,
  TransportCall,
  UpstreamFailure,
  UpstreamRequest,
} from '../upstream/index.ts';
import { addOwnFields } from './answers.ts';
import type { Exchange, Terminal } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { bodyTooLarge, overloaded, upstreamFailed, upstreamTooSlow } from './problems.ts';

/** Methods whose repetition changes nothing (RFC 9110, 9.2.2) and that are sent again when an old connection dies. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** The terminal that serves an exchange by its upstream: the request goes out, the answer streams back. */
export function forward(exchange: Exchange, route: RouteModel, head: RequestHead, state: GatewayState): void {
  // 1. What the route and the upstream can take.
  const { upstream, maxBodyBytes } = route;
  if (maxBodyBytes !== null && exchange.bodyLength !== 'chunked' && exchange.bodyLength > maxBodyBytes) {
    exchange.answerError(bodyTooLarge());
    return;
  }
  if (!state.upstreamPermits.take(upstream.name, upstream.maxRequests)) {
    exchange.answerError(overloaded());
    return;
  }
  exchange.permitUpstream = upstream.name;

  // 2. The request as the upstream will see it.
  const { downstream } = exchange;
  const body = exchange.bodyLength === 0 ? null : downstream.body(maxBodyBytes);
  const request: UpstreamRequest = {
    method: downstream.method,
    target: exchange.path + exchange.query,
    fields: upstreamFields(head, {
      host: upstream.hostHeader ?? head.host ?? '',
      peer: downstream.peer,
      scheme: downstream.scheme,
      httpMinor: downstream.httpMinor,
      requestId: exchange.requestId,
      passAuthorization: upstream.passAuthorization,
    }),
    bodyLength: exchange.bodyLength,
    body,
    firstByteTimeoutMs: route.firstByteTimeoutMs,
    idleTimeoutMs: route.idleTimeoutMs,
  };

  // 3. Out it goes.
  const forwarding = new Forwarding(exchange, request, body, state);
  exchange.terminal = forwarding;
  forwarding.send();
}

/** One exchange under way between client and upstream. */
class Forwarding implements AnswerSink, Terminal {
  readonly #exchange: Exchange;
  readonly #request: UpstreamRequest;
  readonly #body: BodySource | null;
  readonly #state: GatewayState;
  #call: TransportCall | null = null;
  /** The client has as much as it can take for now. */
  #blocked = false;

  constructor(exchange: Exchange, request: UpstreamRequest, body: BodySource | null, state: GatewayState) {
    this.#exchange = exchange;
    this.#request = request;
    this.#body = body;
    this.#state = state;
  }

  send(): void {
    const exchange = this.#exchange;
    exchange.sentUpstreamAtMs = this.#state.clock.monotonicMs();
    const transport = this.#state.transportOf((exchange.route as RouteModel).upstream);
    this.#call = transport.send(this.#request, this);
  }

  info(status: number, fields: Fields): void {
    if (this.#exchange.downstream.httpMinor === 1) {
      this.#exchange.downstream.info(status, keepAnswerFields(fields, status, false));
    }
  }

  whole(status: number, reason: string, fields: Fields, body: string): void {
    const out = this.#begin(status, fields, false);
    try {
      this.#exchange.sendWhole(status, reason, out, body, false);
      this.#exchange.outcome = 'forwarded';
    } catch (fault) {
      this.#unsendable(fault);
    }
  }

  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void {
    const out = this.#begin(status, fields, bodyLength === null && this.#exchange.downstream.httpMinor === 1);
    try {
      this.#exchange.downstream.head(status, reason, out);
      this.#exchange.status = status;
    } catch (fault) {
      this.#unsendable(fault);
    }
  }

  data(chunk: Buffer, taken: Taken | null): boolean {
    this.#exchange.bytesSent += chunk.length;
    const more = this.#exchange.downstream.write(chunk, taken);
    this.#blocked = !more;
    return more;
  }

  end(trailers: Fields): void {
    this.#exchange.outcome = 'forwarded';
    this.#exchange.downstream.end(trailers);
  }

  fail(failure: UpstreamFailure): void {
    if (this.#retrySafe(failure)) {
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
    this.#call?.abort();
  }

  #begin(status: number, fields: Fields, chunked: boolean): string[] {
    this.#exchange.answeredUpstreamAtMs = this.#state.clock.monotonicMs();
    const out = keepAnswerFields(fields, status, chunked);
    addOwnFields(out, this.#exchange.requestId);
    return out;
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
  #retrySafe(failure: UpstreamFailure): boolean {
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
