import type { GatewayError, PriceOutcome } from '../core/index.ts';
import { addTrace } from '../wire/http/index.ts';
import { type Downstream, Exchange, type Served, type Settler } from './exchange/index.ts';
import { GATES, type GateResult, withoutAuthentication } from './gates/index.ts';
import { type GatewayDependencies, type GatewayState, gatewayState } from './gateway-state.ts';
import { applyOutcome, applyPrice, lastRecordOf, type Refused, recordOf, refusalRecord } from './ledger.ts';
import type { RenderedResponse } from './responses/index.ts';
import { errors, RateLimitError, renderError } from './responses/index.ts';
import type { RequestGeneration } from './runtime/index.ts';
import * as terminals from './terminals/index.ts';

/** The admission of an exchange that takes longer is recorded separately. */
const LASTING_MS = 1_000;

/**
 * Takes requests from the listeners through the gates to the terminal that serves them, and counts what happened. Each step of this
 * walk is marked in the code: to find one, search this folder for "Step 5".
 *
 *  1. `accept`           makes an exchange of the request, with the current configuration  (gateway.ts, exchange/exchange.ts)
 *  2. `readHead`         rejects a head that can be read in more than one way              (gates/head.ts)
 *  3. `capacity`         looks for room in the process, then for its address               (gates/overload.ts)
 *  4. `restrictAddress`  refuses an address that is restricted or blocked                  (gates/restriction.ts)
 *  5. `findRoute`        finds out where it leads: the route, the terminal, the pool       (gates/route.ts)
 *  6. `identify`         makes a caller of its token; may wait for keys                    (gates/identity.ts)
 *  7. `chooseUpstream`   takes the upstream of its caller where several share a route      (gates/upstream.ts)
 *     `upstreamCapacity` takes a place among the requests to its upstream, if there is one (gates/upstream.ts)
 *  8. `limit`            has all its limits decided at once; may wait for them             (gates/limit.ts)
 *  9. `authorise`        refuses what lacks a valid token or a right, then a place         (gates/authorise.ts)
 * 10. `serve`            opens the terminal: `forward` sends the request upstream          (gateway.ts, terminals/forward.ts)
 * 11. `head`             passes the response on, with the gateway's own fields             (terminals/forward.ts)
 *     `settle`           applies its outcome as soon as its status is known                (gateway.ts, ledger.ts)
 *     `leave`            gives up its places as soon as its response is complete           (exchange/exchange.ts)
 * 12. `over`             records it once its response is delivered, or never will be       (gateway.ts, ledger.ts)
 *
 * Steps 2 to 9 are the gates: gates/gates.ts has their order with the reason for it. The error that a gate returns answers the
 * exchange in place of step 10 (`#conclude`). After that, or while a gate waits, `Exchange.fault` ends it: for a failure of the
 * gateway, for what the client sends, for a deadline, or by a `review`. Whatever answers it, step 12 follows, once. A client
 * decides when it reads its response, so nothing that others wait for waits for step 12.
 */
export class Gateway implements Settler {
  readonly #state: GatewayState;

  constructor(parts: GatewayDependencies) {
    this.#state = gatewayState(parts);
  }

  /** Exchanges in flight: those whose complete response has not arrived yet. */
  get inFlight(): number {
    return this.#state.inFlight;
  }

  /** Exchanges in flight to an upstream, including calls and WebSockets. */
  inFlightTo(upstream: string): number {
    return this.#state.upstreamPermits.taken(upstream);
  }

  /** Starts new exchanges with this generation. Running exchanges keep theirs. */
  use(generation: RequestGeneration): void {
    this.#state.generation = generation;
  }

  /** Step 1: begins an exchange. Its listener then calls `run`, and `over` at its end. */
  accept(downstream: Downstream): Exchange {
    const state = this.#state;
    const exchange = new Exchange(downstream, state, this);
    state.inFlight++;
    return exchange;
  }

  /** Runs steps 2 to 11. Never throws; the response may still be in progress when it returns. */
  run(exchange: Exchange): void {
    try {
      // Steps 2 to 9: the gates. A promise if one of them has to wait.
      const result = this.#passGates(exchange, 0);
      // Steps 10 and 11: the terminal, or the error response.
      if (!(result instanceof Promise)) this.#conclude(exchange, result);
      else result.then(awaited => this.#conclude(exchange, awaited)).catch(fault => exchange.fault(fault));
    } catch (fault) {
      exchange.fault(fault);
    }
  }

  /**
   * Ends an exchange that must not continue: its sender was restricted, or its token was revoked, or expired on a route with
   * `close_at_expiry`. Called periodically for each running exchange.
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
    // Nothing is left to refuse. A refusal is also sent to its end, since it may be the one that restricted the client.
    if (exchange.response.isWhole || exchange.offenceAtMs !== 0) return;
    const { limiting, clock } = this.#state;
    const stop = exchange.standing.review(limiting, clock);
    if (stop === null) return;
    if (stop.refusedToken === null) {
      this.#noteRestricted(exchange, stop.error);
      exchange.fault(stop.error);
    } else {
      exchange.refusedToken = stop.refusedToken;
      exchange.fault(withoutAuthentication(exchange));
    }
  }

  /** Step 11, once the status is known: returns units of limits, and counts offences of the sender. */
  settle(exchange: Exchange): void {
    try {
      applyOutcome(exchange, this.#state);
    } catch (fault) {
      exchange.response.error = errors.internalFault(fault);
    }
  }

  /** Step 11, once the price is known: charges it. */
  price(exchange: Exchange, price: number, outcome: PriceOutcome | null): void {
    try {
      applyPrice(exchange, this.#state, price, outcome);
    } catch (fault) {
      exchange.response.error = errors.internalFault(fault);
    }
  }

  /**
   * Step 12: ends the exchange. Its listener calls this exactly once, when the last byte was sent or the client disconnected. A
   * fault in one part must not prevent the next: an exchange that stays counted as in flight would lock others out.
   */
  over(exchange: Exchange, delivered: boolean): void {
    const state = this.#state;
    const { response } = exchange;
    // 12a. Nothing more can be sent.
    response.isOver = true;
    if (!delivered && response.outcome !== 'truncated') response.outcome = 'abandoned';
    // 12b. Stop everything that still waits or runs for it.
    try {
      stopWork(exchange, delivered);
    } catch (fault) {
      response.error = errors.internalFault(fault);
    }
    // 12c. Settle it and give up its places, as `whole` has done unless the client left before the response was complete.
    exchange.whole();
    exchange.place?.leave();
    // 12d. Record it for metrics, the log and spans.
    state.listener.finished(lastRecordOf(exchange, state.clock.monotonicMs()));
  }

  /** Renders the response to bytes that never became a request. Counted and logged like any other response. */
  refuse(sender: Refused, error: GatewayError): RenderedResponse {
    const state = this.#state;
    const requestId = state.nextRequestId();
    state.listener.finished(refusalRecord(sender, error, requestId, ++state.sequence, state.clock.epochMs()));
    const response = renderError(error);
    addTrace(response.fields, requestId);
    return response;
  }

  /**
   * Records the admission of a long exchange early: a log replay has to know about a stream while it runs, not only at its end.
   */
  #noteLasting(exchange: Exchange): void {
    if (exchange.lasted || exchange.ruling === null) return;
    const nowMs = this.#state.clock.monotonicMs();
    if (nowMs - exchange.startedAtMs < LASTING_MS) return;
    exchange.lasted = true;
    this.#state.listener.lasting(recordOf(exchange, nowMs));
  }

  /** Reports that a restriction refused a request before its limits were checked. */
  #noteRestricted(exchange: Exchange, error: GatewayError): void {
    if (exchange.ruling !== null || !(error instanceof RateLimitError)) return;
    const { restrictedBy, why } = error;
    if (restrictedBy === null || why === null) return;
    const caller = restrictedBy.endsWith('caller') ? exchange.caller : null;
    this.#state.limiting.listener.refusedByRestriction({
      callerClass: caller === null ? 'address' : caller.class,
      caller: caller?.principal ?? exchange.addressKey,
      why,
    });
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
   * Continues after a wait, unless the client has disconnected: nothing would return the permits that later gates take. Nor if
   * `fault` has answered the exchange: a second response would seem to answer the next request.
   */
  async #passLater(exchange: Exchange, result: Promise<GateResult>, from: number): Promise<GateResult> {
    return (await result) ?? (exchange.response.isAwaited ? this.#passGates(exchange, from) : null);
  }

  #conclude(exchange: Exchange, refusal: GateResult): void {
    if (!exchange.response.isAwaited) return;
    if (refusal === null) {
      serve(exchange, this.#state);
      return;
    }
    if (refusal.status === 429) this.#noteRestricted(exchange, refusal);
    exchange.answerError(refusal);
  }
}

/** Step 10: passes an admitted exchange to its terminal, which answers it now or later. */
function serve(exchange: Exchange, state: GatewayState): Served {
  const { destination } = exchange;
  switch (destination.kind) {
    case 'forward':
      return terminals.forward(exchange, destination, state);
    case 'sign-in':
      return terminals.serveSignIn(exchange, destination);
    case 'notice':
      return terminals.serveNotice(exchange, destination);
    case 'metadata':
      return terminals.serveMetadata(exchange, destination);
    case 'preflight':
      return terminals.servePreflight(exchange, destination);
    case 'answer':
      return terminals.serveAnswer(exchange, destination);
    case 'slash':
      return terminals.serveOtherSlash(exchange, destination);
    case 'redirect':
      return terminals.serveRedirect(exchange, destination);
    case 'options':
      return terminals.serveOptions(exchange, destination);
    case 'nowhere':
      return exchange.answerError(errors.noRoute());
  }
}

/** Stops what still waits or runs for an exchange that is over. Does nothing at the upstream if the response was delivered. */
function stopWork(exchange: Exchange, delivered: boolean): void {
  if (exchange.deadline !== null) exchange.clock.cancel(exchange.deadline);
  exchange.leaveLine?.();
  if (!delivered) exchange.upstreamLeg?.abandoned();
}
