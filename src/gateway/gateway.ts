import { invalid } from '../auth/index.ts';
import { GatewayError } from '../core/index.ts';
import { addTrace } from '../http/index.ts';
import type { Generation } from '../runtime/index.ts';
import {
  addressRestricted,
  callerRestricted,
  internalFault,
  type RenderedAnswer,
  renderError,
  unauthenticated,
} from './answers/index.ts';
import { type Downstream, Exchange } from './exchange/index.ts';
import { GATES, type GateResult } from './gates/index.ts';
import { type GatewayDependencies, GatewayState } from './gateway-state.ts';
import { recordOf, refusalRecord, settle } from './ledger.ts';
import { serve } from './terminals/index.ts';

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

  /** Exchanges in flight to one upstream. */
  inFlightTo(upstream: string): number {
    return this.#state.upstreamPermits.taken(upstream);
  }

  /** Exchanges begin with this one from now on; those under way keep theirs. */
  use(generation: Generation): void {
    this.#state.generation = generation;
  }

  /** Begins an exchange. Never throws; the answer may be under way when it returns. */
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

  /** Something inside failed: the client hears that much, the log hears why. */
  fault(exchange: Exchange, fault: unknown): void {
    this.#abandon(exchange);
    exchange.answerError(fault instanceof GatewayError ? fault : internalFault(fault));
  }

  /** The client sent something that ends its exchange, such as a body with broken framing. */
  clientFault(exchange: Exchange, error: GatewayError): void {
    this.#abandon(exchange);
    exchange.answerError(error);
  }

  /**
   * Ends an exchange that must not go on though its client would: its sender was restricted, or its token was revoked, or
   * expired on a route that says `close_at_expiry`. Asked now and then for those under way.
   */
  review(exchange: Exchange): void {
    const { token, destination } = exchange;
    const waitMs = this.#state.limiting.restrictions.addressWaitMs(exchange.addressKey);
    if (waitMs > 0) this.clientFault(exchange, addressRestricted(waitMs));
    if (waitMs > 0 || token === null || destination.kind !== 'forward') return;
    const { caller } = token;
    const callerWaitMs = this.#state.limiting.restrictions.principalWaitMs(caller.principal);
    const expired = destination.route.closeAtExpiry && this.#state.clock.epochMs() >= caller.expiresAtMs;
    if (callerWaitMs > 0) this.clientFault(exchange, callerRestricted(callerWaitMs));
    else if (expired) this.#refuseToken(exchange, 'expired');
    else if (token.verifier.isRevoked(caller)) this.#refuseToken(exchange, 'not_before');
  }

  /** The last byte has gone, or the client has. Called exactly once for each exchange. */
  over(exchange: Exchange, delivered: boolean): void {
    const state = this.#state;
    const { answer } = exchange;
    answer.isOver = true;
    if (!delivered) {
      if (answer.outcome !== 'truncated') answer.outcome = 'abandoned';
      exchange.upstreamLeg?.abandoned();
    }
    if (exchange.hasAddressPermit) state.addressPermits.giveBack(exchange.addressKey);
    exchange.upstreamPermit?.giveBack();
    state.inFlight--;
    settle(exchange, state);
    state.listener.finished(recordOf(exchange, state.clock.monotonicMs()));
  }

  /** The answer to bytes that never became a request; it is counted and logged like any other. */
  refuse(peer: string, error: GatewayError): RenderedAnswer {
    const state = this.#state;
    const requestId = state.nextRequestId();
    state.listener.started();
    state.listener.finished(refusalRecord(peer, error, requestId, ++state.sequence, state.clock.epochMs()));
    const answer = renderError(error);
    addTrace(answer.fields, requestId);
    return answer;
  }

  /** The token of an exchange under way does not count any more. */
  #refuseToken(exchange: Exchange, reason: 'expired' | 'not_before'): void {
    exchange.refusedToken = invalid(reason);
    exchange.generation.identity?.verifier.refuse(exchange.refusedToken);
    this.clientFault(exchange, unauthenticated(exchange.refusedToken));
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
   * A client that has gone meanwhile takes nothing more: what further gates would take for it, nobody would give back. One
   * that was answered meanwhile (see `clientFault`) gets no second answer, which would be taken for that to its next request.
   */
  async #passLater(exchange: Exchange, result: Promise<GateResult>, from: number): Promise<GateResult> {
    return (await result) ?? (exchange.answer.isSettled ? null : this.#passGates(exchange, from));
  }

  #conclude(exchange: Exchange, refusal: GateResult): void {
    if (exchange.answer.isSettled) return;
    if (refusal === null) {
      serve(exchange, this.#state);
      return;
    }
    // A client that is slow to take its refusal keeps nobody out.
    exchange.upstreamPermit?.giveBack();
    exchange.answerError(refusal);
  }

  /** Nothing more is done for it upstream. */
  #abandon(exchange: Exchange): void {
    exchange.upstreamLeg?.abandoned();
    exchange.upstreamPermit?.giveBack();
  }
}
