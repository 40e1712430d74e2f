import type { BodySink, BodySource } from '../../src/core/index.ts';

/** A body in the hands of a test. */
export class HandBody implements BodySource {
  started = false;
  paused = false;
  sink: BodySink | null = null;
  /** Runs when it is started. */
  onStart: (sink: BodySink) => void = () => {};

  start(sink: BodySink): void {
    this.started = true;
    this.sink = sink;
    this.onStart(sink);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }
}
