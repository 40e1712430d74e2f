import type { Socket } from 'node:net';
import { type GatewayError, StallTimer } from '../../core/index.ts';
import type { RequestReader } from '../../http1/index.ts';
import { BodyPace } from '../body-pace.ts';
import type { ListenerState } from '../listener-state.ts';
import type { Phase } from './connection-phase.ts';
import { lateness } from './lateness.ts';
import { SocketProgress } from './socket-progress.ts';

/** How long requests that fill the reader may wait behind another. */
const MAX_FULL_MS = 5_000;

/** Measures how long a connection waits for its client. Only sweeps read the clock. */
export class ClientWatch {
  readonly #reader: RequestReader;
  readonly #state: ListenerState;
  readonly #stall = new StallTimer();
  readonly #pace = new BodyPace();
  readonly #progress: SocketProgress;
  /** The first sweep that found the reader full behind the present exchange. */
  #fullSinceMs: number | null = null;

  constructor(socket: Socket, reader: RequestReader, state: ListenerState) {
    this.#reader = reader;
    this.#state = state;
    this.#progress = new SocketProgress(socket);
  }

  /** Another wait begins. */
  begin(): void {
    this.#stall.begin();
  }

  /** The body is not read for now. */
  bodyStoodStill(): void {
    this.#pace.stoodStill();
  }

  exchangeEnded(): void {
    this.#fullSinceMs = null;
  }

  /**
   * Whether the client has taken too long: the error to answer with, or `close` if no response is due. Ask at each
   * sweep, and only then.
   */
  lateness(nowMs: number, phase: Phase, halfClosed: boolean): GatewayError | 'close' | null {
    const { body, insideHead } = this.#reader;
    const moved = this.#progress.moved(phase.name === 'lingering' || body?.flows === true);
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    const isTooSlow = body !== null && this.#pace.isTooSlow(nowMs, body);
    const late = lateness(phase, this.#state, { nowMs, waitedMs, isTooSlow, insideHead, halfClosed });
    if (late !== 'not awaited') return late;
    this.#stall.begin();
    return null;
  }

  /** Whether requests behind a slow one have filled the reader for too long. Ask at each sweep during an exchange. */
  isFullTooLong(nowMs: number): boolean {
    if (!this.#reader.isFull) return false;
    this.#fullSinceMs ??= nowMs;
    return nowMs - this.#fullSinceMs >= MAX_FULL_MS;
  }
}
