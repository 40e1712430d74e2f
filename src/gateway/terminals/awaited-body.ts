import type { BodySink, BodySource, Timer, TimerClock } from '../../core/index.ts';

/** How long the service may take to send a 100. RFC 9110, 10.1.1: a client does not wait indefinitely either. */
const MAX_WAIT_MS = 1_000;

/**
 * A request's body that its client holds back (`Expect: 100-continue`) until the service sends a 100, or has sent nothing for a
 * second. Reading it makes the gateway send a 100.
 */
export class AwaitedBody implements BodySource {
  readonly #source: BodySource;
  readonly #clock: TimerClock;
  readonly #contain: (act: () => void) => void;
  #sink: BodySink | null = null;
  #timer: Timer | null = null;
  #isOver = false;

  /** @param contain runs a callback that has no caller to catch its errors */
  constructor(source: BodySource, clock: TimerClock, contain: (act: () => void) => void) {
    this.#source = source;
    this.#clock = clock;
    this.#contain = contain;
  }

  get started(): boolean {
    return this.#source.started;
  }

  /** Called each time the request is sent, until the body has begun. */
  start(sink: BodySink): void {
    this.#sink = sink;
    this.#timer ??= this.#clock.after(MAX_WAIT_MS, () => this.#contain(() => this.begin()));
  }

  pause(): void {
    if (this.started) this.#source.pause();
  }

  resume(): void {
    if (this.started) this.#source.resume();
  }

  /** Begins to read the body: the service wants it. */
  begin(): void {
    if (this.#isOver || this.#sink === null) return;
    this.stop();
    this.#source.start(this.#sink);
  }

  /** Does not begin to read any more: the service has answered. */
  stop(): void {
    this.#isOver = true;
    this.#clock.cancel(this.#timer);
  }
}
