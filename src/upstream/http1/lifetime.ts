import type { OutgoingRequest } from '../../http1/index.ts';
import type { UpstreamFailure, UpstreamOptions } from '../transport.ts';

/** Subtracted from a server's keep-alive time: its close and our next request could cross. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** How long a connection may live, and how long it may be idle. */
export class Lifetime {
  readonly #options: UpstreamOptions;
  readonly #maxAgeMs: number;
  #idleMs: number;
  #bornAtMs: number;
  #isTooOld = false;

  /** `chance`, 0 up to 1, takes up to a fifth off the maximum age, so that a burst does not close all at once. */
  constructor(options: UpstreamOptions, chance: number, nowMs: number) {
    this.#options = options;
    this.#maxAgeMs = options.maxAgeMs * (1 - chance / 5);
    this.#idleMs = options.keepAliveMs;
    this.#bornAtMs = nowMs;
  }

  /** Whether another request may follow. */
  get hasTimeLeft(): boolean {
    return this.#idleMs > 0 && !this.#isTooOld;
  }

  /** The connection is established: its age counts from now. */
  begin(nowMs: number): void {
    this.#bornAtMs = nowMs;
  }

  /** Notes how long the server keeps the connection, in milliseconds; null: it did not say. */
  serverKeeps(keepAliveMs: number | null): void {
    if (keepAliveMs !== null)
      this.#idleMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, this.#options.maxAgeMs);
  }

  /** Notes the connection's age. Call at each sweep. */
  age(nowMs: number): void {
    this.#isTooOld = nowMs - this.#bornAtMs > this.#maxAgeMs;
  }

  /** Whether to close a connection that has been idle for `idleMs`. */
  isOverAfter(idleMs: number): boolean {
    return idleMs >= this.#idleMs || this.#isTooOld;
  }
}

/** What a connection is doing. */
export type UpstreamPhase =
  /** Being established; the request waits. */
  | 'connecting'
  /** Nothing is in flight. Any byte closes it. */
  | 'idle'
  /** A request is being sent or was sent; the head of its response is not complete. */
  | 'waiting'
  /** The body of a response is coming in. */
  | 'answering'
  | 'closed';

/** How an upstream is late: the failure to report, and what to write to the log. */
interface Lateness {
  readonly kind: UpstreamFailure['kind'];
  readonly why: string;
}

const CONNECT: Lateness = { kind: 'connect', why: 'the connect timed out' };
const FIRST_BYTE: Lateness = { kind: 'timeout', why: 'no response came in time' };
const IDLE_BODY: Lateness = { kind: 'truncated', why: 'the response stood still for too long' };

/** Decides whether the upstream has kept a request waiting for too long; null: it is in time. */
export function upstreamLateness(
  phase: UpstreamPhase,
  waitedMs: number,
  { connectTimeoutMs }: UpstreamOptions,
  request: OutgoingRequest | null,
): Lateness | null {
  switch (phase) {
    case 'connecting':
      return waitedMs > connectTimeoutMs ? CONNECT : null;
    case 'waiting':
      return waitedMs > (request?.firstByteTimeoutMs ?? Number.POSITIVE_INFINITY) ? FIRST_BYTE : null;
    case 'answering':
      return waitedMs > (request?.idleTimeoutMs ?? Number.POSITIVE_INFINITY) ? IDLE_BODY : null;
    case 'idle':
    case 'closed':
      return null;
  }
}
