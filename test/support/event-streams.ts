import type { CapturedRequest, UpstreamExchange } from './wire/index.ts';

const HEAD = [
  'HTTP/1.1 200 OK',
  'Content-Type: text/event-stream',
  'Cache-Control: no-store',
  'X-Accel-Buffering: no',
  'Transfer-Encoding: chunked',
];

/** The streams of events that an upstream was asked for, which a test writes itself. */
export class EventStreams {
  readonly #asked: EventStream[] = [];
  readonly #lines: readonly string[];
  #wake = (): void => {};

  /** @param lines further fields of each stream's head */
  constructor(lines: readonly string[] = []) {
    this.#lines = lines;
  }

  /** For the upstream's script: answers with a stream that the test writes and ends. */
  async serve(exchange: UpstreamExchange): Promise<void> {
    const stream = new EventStream(exchange);
    this.#asked.push(stream);
    this.#wake();
    await exchange.send(`${[...HEAD, ...this.#lines].join('\r\n')}\r\n\r\n`);
    await Promise.race([stream.ended, exchange.gone]);
  }

  /** Waits for the next stream that is asked for. */
  async next(): Promise<EventStream> {
    for (;;) {
      const stream = this.#asked.shift();
      if (stream !== undefined) return stream;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }
}

export class EventStream {
  readonly #exchange: UpstreamExchange;
  readonly #end = Promise.withResolvers<void>();

  constructor(exchange: UpstreamExchange) {
    this.#exchange = exchange;
  }

  get request(): CapturedRequest {
    return this.#exchange.request;
  }

  get ended(): Promise<void> {
    return this.#end.promise;
  }

  /** Resolves when the gateway has let go of it. */
  get gone(): Promise<void> {
    return this.#exchange.gone;
  }

  /** Sends this in a chunk of its own. */
  send(piece: string | Buffer): Promise<void> {
    const bytes = Buffer.from(piece);
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
    return this.#exchange.send(Buffer.concat([size, bytes, Buffer.from('\r\n')]));
  }

  async end(): Promise<void> {
    await this.#exchange.send('0\r\n\r\n');
    this.#end.resolve();
  }
}
