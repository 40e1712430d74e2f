import type { IncomingMessage } from 'node:http';
import type { BodySink, BodySource } from '../upstream/index.ts';

/** A request's body as Node's parser hands it on: counted, bounded, and flowing only when someone takes it. */
export class NodeBody implements BodySource {
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #onStart: () => void;
  readonly #onTooLarge: () => void;
  started = false;
  bytes = 0;
  #paused = false;

  /** `onStart` runs before the first byte is asked for; `onTooLarge` when more than `maxBytes` have come. */
  constructor(
    request: IncomingMessage,
    maxBytes: number | null,
    onStart: () => void,
    onTooLarge: () => void,
  ) {
    this.#request = request;
    this.#maxBytes = maxBytes ?? Number.POSITIVE_INFINITY;
    this.#onStart = onStart;
    this.#onTooLarge = onTooLarge;
  }

  /** Whether the upstream, not the client, is what the body waits for. */
  get paused(): boolean {
    return this.#paused;
  }

  start(sink: BodySink): void {
    this.started = true;
    this.#onStart();
    const request = this.#request;
    request.on('data', (chunk: Buffer) => this.#onData(chunk, sink));
    request.on('end', () => sink.end());
    // Emitted when the connection breaks inside the body. The end of the response tells the rest of the gateway.
    request.on('error', () => sink.fail());
  }

  pause(): void {
    this.#paused = true;
    this.#request.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#request.resume();
  }

  /** Lets what is still to come go nowhere. */
  discard(): void {
    this.#request.removeAllListeners('data');
    this.#paused = false;
    this.#request.resume();
  }

  #onData(chunk: Buffer, sink: BodySink): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#maxBytes) this.#onTooLarge();
    else if (!sink.chunk(chunk)) this.pause();
  }
}
