import { Client } from 'undici';
import type { Clock } from '../../../src/core/index.ts';
import type { CallSink, TransportCall, UpstreamOptions } from '../../../src/upstream/transport.ts';
import type { OutgoingRequest } from '../../../src/wire/http1/index.ts';
import { UndiciCall } from './undici-call.ts';

/** The events that a lane reports to its pool. */
export interface LaneOwner {
  /** The exchange is over; the lane may carry another. */
  free(): void;
  /** The connection is gone while no exchange was in flight. */
  disconnected(): void;
}

/** One connection to an upstream at a time, and at most one request on it. */
export class Lane {
  readonly #client: Client;
  readonly #owner: LaneOwner;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  #busy = false;
  #connected = false;
  #bornAt = 0;
  /** Requests that this connection has carried. */
  #carried = 0;

  /** `chance`, 0 up to 1, takes up to a fifth off the connection's age, so that not all of a burst close together. */
  constructor(options: UpstreamOptions, clock: Clock, chance: number, owner: LaneOwner) {
    this.#owner = owner;
    this.#clock = clock;
    this.#maxAgeMs = options.maxAgeMs * (1 - chance / 5);
    this.#client = new Client(`http://${hostForUrl(options.host)}:${options.port}`, {
      pipelining: 1,
      allowH2: false,
      connect: { timeout: options.connectTimeoutMs },
      keepAliveTimeout: options.keepAliveMs,
      // The upstream's own hint may lengthen the wait, up to this; it is honoured less one second.
      keepAliveMaxTimeout: options.maxAgeMs,
      keepAliveTimeoutThreshold: 1_000,
      maxHeaderSize: options.maxHeadBytes,
      maxResponseSize: -1,
    });
    this.#client.on('connect', () => this.#onConnect());
    this.#client.on('disconnect', () => this.#onDisconnect());
    // A failed connect reaches the exchange through its own handler; without a listener the event would be lost anyway.
    this.#client.on('connectionError', () => {});
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Past its age: it should take no further request. */
  get old(): boolean {
    return this.#clock.monotonicMs() - this.#bornAt > this.#maxAgeMs;
  }

  send(request: OutgoingRequest, sink: CallSink): TransportCall {
    this.#busy = true;
    const call = new UndiciCall(request, sink, this.#connected && this.#carried > 0, () => this.#onOver());
    this.#carried++;
    call.dispatchOn(this.#client);
    return call;
  }

  /** Closes the connection after the exchange in flight. */
  close(): Promise<void> {
    return this.#client.close();
  }

  #onOver(): void {
    this.#busy = false;
    this.#owner.free();
  }

  #onConnect(): void {
    this.#connected = true;
    this.#carried = 1;
    this.#bornAt = this.#clock.monotonicMs();
  }

  #onDisconnect(): void {
    this.#connected = false;
    this.#carried = 0;
    if (!this.#busy) this.#owner.disconnected();
  }
}

function hostForUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
