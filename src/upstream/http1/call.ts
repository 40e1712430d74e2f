import type { OutgoingRequest } from '../../http1/index.ts';
import type { CallSink, TransportCall } from '../transport.ts';

/** The connection that carries a call. It ignores calls that are over. */
export interface CallCarrier {
  resume(call: Call): void;
  abort(call: Call): void;
}

/** A request in flight. */
export class Call implements TransportCall {
  readonly request: OutgoingRequest;
  readonly sink: CallSink;
  readonly #carrier: CallCarrier;

  constructor(carrier: CallCarrier, request: OutgoingRequest, sink: CallSink) {
    this.#carrier = carrier;
    this.request = request;
    this.sink = sink;
  }

  resume(): void {
    this.#carrier.resume(this);
  }

  abort(): void {
    this.#carrier.abort(this);
  }
}
