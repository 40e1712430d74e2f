import type { GatewayError, PoolName } from '../core/index.ts';
import { addTrace } from '../http/index.ts';
import type { RequestGeneration } from '../runtime/index.ts';
import { type Downstream, Exchange, type Served } from './exchange/index.ts';
import { GATES, type GateResult } from './gates/index.ts';
import { type GatewayDependencies, GatewayState } from './gateway-state.ts';
import { lastRecordOf, type Refused, recordOf, refusalRecord, settle } from './ledger.ts';
import {
  internalFault,
  noRoute,
  RateLimitError,
  type RenderedResponse,
  renderError,
} from './responses/index.ts';
import {
  forward,
  serveNotice,
  serveOptions,
  servePreflight,
  serveRedirect,
  serveSignIn,
} from './terminals/index.ts';

/** An exchange that takes longer has its admission recorded apart. */
const LASTING_MS = 1_000;

/** Takes requests from the listeners through the gates to the terminal that serves them, and counts what happened. */
export class Gateway {
  readonly #state: GatewayState;

  constructor(parts: GatewayDependencies) {
    this.#state = new GatewayState(parts);
  }

  /** Exchanges in flight. */
  get inFlight(): number {
    return this.#state.inFlight;
  }

  /** Exchanges of one kind in flight to an upstream. */
  inFlightTo(upstream: string, pool: PoolName): number {
    return this.#state.upstreamPermits.taken(upstream, pool);
  }

  /** New exchanges begin with this generation from now on; those under way keep theirs. */
  use(generation: RequestGeneration): void {
    this.#state.generation = generation;
  }

  /** Begins an exchange. Never throws; the response may be under way when it returns. */
  accept(downstream: Downstream): Exchange {
    const state = this.#state;
    const exchange = new Exchange(downstream, state);
    state.inFlight++;
    state.listener.started();
    return exchange;
  }

  /** Takes the exchange through the gates to its terminal. */
  run(exchange: Exchange): void {
    try {
      const result = this.#passGates(exchange, 0);
      if (!(result instanceof Promise)) this.#conclude(exchange, result);
      else
        result.then(awaited => this.#conclude(exchange, awaited)).catch(fault => this.fault(exchange, fault));
    } catch (fault) {
      this.fault(exchange, fault);
    }
  }

  /** Answers an exchange that failed inside the gateway. The log says why; the client only learns that it failed. */
  fault(exchange: Exchange, fault: unknown): void {
    exchange.fault(fault);
  }

  /** Ends an exchange because of what its client sent, such as a body with broken framing. */
  clientFault(exchange: Exchange, error: GatewayError): void {
    exchange.fault(error);
  }

  /**
   * Ends an exchange that must not go on: its sender was restricted, or its token was revoked, or expired on a route with
   * `close_at_expiry`. Called now and then for each exchange under way.
   */
  review(exchange: Exchange): void {
    try {
      this.#review(exchange);
    } catch (fault) {
      exchange.fault(fault);
    }
  }

  #review(exchange: Exchange): void {
    this.#noteLasting(exchange);
    const { limiting, clock } = this.#state;
    const stop = exchange.standing.review(limiting, clock);
    if (stop === null) return;
    if (stop.refusedToken === null) this.#noteRestricted(exchange, stop.error, limiting.memory.nowMs());
    else exchange.refusedToken = stop.refusedToken;
    exchange.fault(stop.error);
  }

  /** The last byte was sent, or the client disconnected. Called exactly once for each exchange. */
  over(exchange: Exchange, delivered: boolean): void {
    const state = this.#state;
    const { response } = exchange;
    response.isOver = true;
    if (!delivered && response.outcome !== 'truncated') response.outcome = 'abandoned';
    try {
      leave(exchange, delivered);
    } catch (fault) {
      response.error = internalFault(fault);
    }
    if (exchange.hasAddressPermit) state.addressPermits.giveBack(exchange.addressKey);
    exchange.upstreamPermit?.giveBack();
    state.inFlight--;
    try {
      settle(exchange, state);
    } catch (fault) {
      response.error = internalFault(fault);
    }
    state.listener.finished(lastRecordOf(exchange, state.clock.monotonicMs()));
  }

  /** Renders the response to bytes that never became a request. It is counted and logged like any other. */
  refuse(sender: Refused, error: GatewayError): RenderedResponse {
    const state = this.#state;
    const requestId = state.nextRequestId();
    state.listener.started();
    state.listener.finished(refusalRecord(sender, error, requestId, ++state.sequence, state.clock.epochMs()));
    const response = renderError(error);
    addTrace(response.fields, requestId);
    return response;
  }

  /** A replay of the log has to know of a stream while it runs, not when it ends. */
  #noteLasting(exchange: Exchange): void {
    if (exchange.lasted || exchange.ruling === null) return;
    const nowMs = this.#state.clock.monotonicMs();
    if (nowMs - exchange.startedAtMs < LASTING_MS) return;
    exchange.lasted = true;
    this.#state.listener.lasting(recordOf(exchange, nowMs));
  }

  /** A replay of the log has to know when it was refused before its limits were asked. */
  #noteRestricted(exchange: Exchange, error: GatewayError, atMs: number): void {
    if (exchange.ruling !== null || !(error instanceof RateLimitError)) return;
    const { restrictedBy, why } = error;
    if (restrictedBy === null || why === null) return;
    exchange.restrictedAtMs = atMs;
    const caller = restrictedBy.endsWith('caller') ? exchange.caller : null;
    this.#state.limiting.listener.refusedByRestriction({
      callerClass: caller?.kind ?? 'address',
      caller: caller?.principal ?? exchange.addressKey,
      why,
    });
  }

  /** When a gate refused it. Before its token is looked at, no gate waits: then its arrival, at which a restriction had not ended. */
  #momentOf({ token, startedAtMs }: Exchange): number {
    const { memory } = this.#state.limiting;
    return token === null ? memory.tellOf(startedAtMs) : memory.nowMs();
  }

  #passGates(exchange: Exchange, from: number): GateResult | Promise<GateResult> {
    for (let i = from; i < GATES.length; i++) {
      const result = GATES[i]?.(exchange, this.#state) ?? null;
      if (result instanceof Promise) return this.#passLater(exchange, result, i + 1);
      if (result !== null) return result;
    }
    return null;
  }

  /**
   * Stops if the client has disconnected during the wait: nothing would return the permits that later gates take. Also stops if
   * the exchange was answered during the wait (see `clientFault`): a second response would seem to answer the next request.
   */
  async #passLater(exchange: Exchange, result: Promise<GateResult>, from: number): Promise<GateResult> {
    return (await result) ?? (exchange.response.isSettled ? null : this.#passGates(exchange, from));
  }

  #conclude(exchange: Exchange, refusal: GateResult): void {
    if (exchange.response.isSettled) return;
    if (refusal === null) {
      serve(exchange, this.#state);
      return;
    }
    // Return the permit now: a client that is slow to read its refusal must not keep others out.
    exchange.upstreamPermit?.giveBack();
    if (refusal.status === 429) this.#noteRestricted(exchange, refusal, this.#momentOf(exchange));
    exchange.answerError(refusal);
  }
}

/** Hands an exchange that has passed the gates to its terminal, which answers it now or later. */
function serve(exchange: Exchange, state: GatewayState): Served {
  const { destination } = exchange;
  switch (destination.kind) {
    case 'forward':
      return forward(exchange, destination, state);
    case 'sign-in':
      return serveSignIn(exchange, destination);
    case 'notice':
      return serveNotice(exchange, destination);
    case 'preflight':
      return servePreflight(exchange, destination);
    case 'redirect':
      return serveRedirect(exchange, destination);
    case 'options':
      return serveOptions(exchange, destination);
    case 'nowhere':
      return exchange.answerError(noRoute());
  }
}

/** Ends what still waits or runs for an exchange that is over. */
function leave(exchange: Exchange, delivered: boolean): void {
  if (exchange.deadline !== null) exchange.clock.cancel(exchange.deadline);
  exchange.leaveLine?.();
  if (!delivered) exchange.upstreamLeg?.abandoned();
}
