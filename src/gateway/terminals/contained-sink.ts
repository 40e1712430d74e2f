import type { ByteStream, FieldNames, Fields, Release } from '../../core/index.ts';
import type { CallSink, UpstreamFailure } from '../../upstream/index.ts';
import type { Exchange } from '../exchange/index.ts';

/**
 * Passes a response on, and ends the exchange where that fails inside the gateway. A transport would take such a fault for one of
 * the upstream's bytes, or would have nothing above it to catch it: parts of a response come by timers and events of sockets.
 */
export class ContainedSink implements CallSink {
  readonly #sink: CallSink;
  readonly #exchange: Exchange;

  constructor(sink: CallSink, exchange: Exchange) {
    this.#sink = sink;
    this.#exchange = exchange;
  }

  neverIndex(names: FieldNames): void {
    try {
      this.#sink.neverIndex(names);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
  }

  info(status: number, fields: Fields): void {
    try {
      this.#sink.info(status, fields);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
  }

  whole(status: number, reason: string, fields: Fields, body: string): void {
    try {
      this.#sink.whole(status, reason, fields, body);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
  }

  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void {
    try {
      this.#sink.head(status, reason, fields, bodyLength);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
  }

  data(chunk: Buffer, release: Release | null): boolean {
    try {
      return this.#sink.data(chunk, release);
    } catch (fault) {
      this.#exchange.fault(fault);
      return true;
    }
  }

  end(trailers: Fields): void {
    try {
      this.#sink.end(trailers);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
  }

  switched(fields: Fields, stream: ByteStream): void {
    try {
      this.#sink.switched(fields, stream);
    } catch (fault) {
      stream.destroy();
      this.#exchange.fault(fault);
    }
  }

  fail(failure: UpstreamFailure): void {
    try {
      this.#sink.fail(failure);
    } catch (fault) {
      this.#exchange.fault(fault);
    }
  }
}
