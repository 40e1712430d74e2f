import type { Clock, Random } from '../../../src/core/index.ts';
import type { CallSink, Transport, TransportCall, UpstreamOptions } from '../../../src/upstream/transport.ts';
import type { OutgoingRequest } from '../../../src/wire/http1/index.ts';
import { Lane } from './undici-lane.ts';

/**
 * A transport on undici's `dispatch`: the cheapest of the well-kept HTTP/1.1 clients, with raw headers in and out.
 *
 * The pool is ours and last in, first out, so that connections that are not needed grow idle and close: undici's own
 * picks the first that is free, knows no age, and queues without bound. A lane carries one request at a time.
 */
export class UndiciTransport implements Transport {
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #idle: Lane[] = [];
  readonly #lanes = new Set<Lane>();
  #closing = false;

  /** `random` gives numbers from 0 up to 1, for the jitter of connection ages. */
  constructor(options: UpstreamOptions, clock: Clock, random: Random) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
  }

  get connections(): number {
    let connected = 0;
    for (const lane of this.#lanes) if (lane.connected) connected++;
    return connected;
  }

  send(request: OutgoingRequest, sink: CallSink): TransportCall {
    const lane = this.#idle.pop() ?? this.#open();
    return lane.send(request, sink);
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#idle.length = 0;
    await Promise.all([...this.#lanes].map(lane => lane.close()));
    this.#lanes.clear();
  }

  #open(): Lane {
    const lane = new Lane(this.#options, this.#clock, this.#random(), {
      free: () => this.#release(lane),
      disconnected: () => this.#forget(lane),
    });
    this.#lanes.add(lane);
    return lane;
  }

  #release(lane: Lane): void {
    if (this.#closing || !lane.connected || lane.old) this.#retire(lane);
    else this.#idle.push(lane);
  }

  /** A connection that closed while nothing was in flight on it: by the upstream, or because it was idle for long. */
  #forget(lane: Lane): void {
    const at = this.#idle.lastIndexOf(lane);
    if (at === -1) return;
    this.#idle.splice(at, 1);
    this.#retire(lane);
  }

  #retire(lane: Lane): void {
    if (!this.#closing) this.#lanes.delete(lane);
    void lane.close();
  }
}
