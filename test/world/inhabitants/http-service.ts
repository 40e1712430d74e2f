import type { IncomingHttpHeaders } from 'node:http';
import { constants, createServer, type Http2ServerRequest } from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { Network } from '../../../src/core/index.ts';
import type { Draws } from '../kernel/draws.ts';
import { PRICE_FIELD, SOLD } from '../oracles/sold-quotas.ts';
import type { World } from '../world.ts';
import { HELD_MS, Service } from './service.ts';

/** What the body of the response to a request consists of, again and again. */
export function wordOf(id: string): string {
  return `<${id}>`;
}

/** What ends a body whose length nobody has said. */
export const LAST = '.';

/** A request, as both servers of Node.js hand it on. */
interface Question extends Readable {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Its response. */
interface Answer extends Writable {
  sendDate: boolean;
  readonly headersSent: boolean;
  writeHead(status: number, fields: Readonly<Record<string, string | number>>): unknown;
  setHeader(name: string, value: string): unknown;
  addTrailers(fields: Readonly<Record<string, string>>): void;
}

/** What a request came on. */
interface Carrier {
  readonly isGone: boolean;
  /** Breaks it without a word. */
  reset(): void;
  cut(): void;
  /** Takes no further requests after this one. */
  retire(answer: Answer): void;
}

/** A service that speaks HTTP/1.1 or HTTP/2. It answers by its own whims, and always with what only this request may get. */
export class HttpService extends Service {
  readonly #speaks: 'http1' | 'h2';

  constructor(world: World, name: string, speaks: 'http1' | 'h2') {
    super(world, name);
    this.#speaks = speaks;
  }

  protected listen(network: Network, listening: () => void): void {
    const place = { host: this.host.address, port: this.port };
    if (this.#speaks === 'http1') {
      const server = network.createHttpServer((request, response) =>
        this.#serve(request, response, connectionOf(request.socket)),
      );
      server.keepAliveTimeout = this.draws.one([1_000, 5_000]);
      server.listen(place, listening);
      return;
    }
    const server = createServer({ settings: { maxConcurrentStreams: this.draws.one([100, 3]) } });
    server.on('session', session => session.on('error', () => {}));
    server.on('request', (request, response) => this.#serve(request, response, streamOf(request)));
    network.createServer({}, socket => server.emit('connection', socket)).listen(place, listening);
  }

  #serve(request: Question, response: Answer, carrier: Carrier): void {
    const id = String(request.headers['x-world'] ?? '');
    this.heard(id, `${request.method} ${request.url}`, request.headers.authorization !== undefined);
    response.sendDate = false;
    const whim = this.whimFor(id);
    const draws = this.draws.part(`${id} answer`);
    const isStream = whim >= 70 && whim < 80 && request.method !== 'HEAD';
    if (request.url === SOLD && this.world.sold.price !== null) this.#tellPrice(response, id, isStream);
    request.on('error', () => {});
    response.on('error', () => {});
    const isHeld = id.startsWith('held');
    if (isHeld) this.#laterOn(carrier, HELD_MS, () => this.#answer(request, response, id, draws));
    else if (whim < 50) this.#answer(request, response, id, draws);
    else if (whim < 70) {
      const waitsMs = draws.between(1, 3_000);
      this.#laterOn(carrier, waitsMs, () => this.#answer(request, response, id, draws));
    } else if (whim < 80) this.#stream(response, carrier, id, draws, draws.whole(1, 12));
    else if (whim < 84) carrier.reset();
    else if (whim < 87) this.#breakOff(response, carrier, id);
    else if (whim < 90) {
      carrier.retire(response);
      response.writeHead(200, { 'x-world': id });
      response.end(wordOf(id) + LAST);
    } else if (whim < 97) {
      request.resume();
      response.writeHead(draws.one([204, 404, 500, 503]), { 'x-world': id });
      response.end();
    } else request.resume();
  }

  /** Says what a request costs: not always, not always well, and of a stream in its trailer. */
  #tellPrice(response: Answer, id: string, isStream: boolean): void {
    const draws = this.draws.part(`${id} price`);
    const { most = 1 } = this.world.sold.price ?? {};
    const text = draws.percent(80) ? String(draws.whole(0, 2 * most)) : draws.one(['', '1.5', 'much']);
    if (draws.percent(10)) return;
    if (isStream && draws.percent(70)) response.addTrailers({ [PRICE_FIELD]: text });
    else response.setHeader(PRICE_FIELD, text);
    const asked = this.world.requests.find(id);
    if (asked !== undefined) asked.told = /^\d+$/.test(text) ? Number(text) : null;
  }

  #answer(request: Question, response: Answer, id: string, draws: Draws): void {
    const isLarge = draws.percent(10);
    const body = wordOf(id).repeat(isLarge ? draws.whole(1_000, 10_000) : draws.whole(0, 20));
    const end = () => {
      response.writeHead(200, { 'x-world': id, 'content-length': body.length });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    // Some read the whole request first, others do not.
    if (draws.percent(70)) request.on('end', end);
    else end();
    request.resume();
  }

  #stream(response: Answer, carrier: Carrier, id: string, draws: Draws, pieces: number): void {
    if (!response.headersSent) response.writeHead(200, { 'x-world': id });
    if (pieces === 0) response.end(LAST);
    else {
      response.write(wordOf(id).repeat(draws.whole(1, draws.one([50, 50, 50, 2_000]))));
      this.#laterOn(carrier, draws.between(1, 800), () =>
        this.#stream(response, carrier, id, draws, pieces - 1),
      );
    }
  }

  /** Promises more than it sends. */
  #breakOff(response: Answer, carrier: Carrier, id: string): void {
    response.writeHead(200, { 'x-world': id, 'content-length': 100_000 });
    response.write(wordOf(id));
    this.#laterOn(carrier, 5, () => carrier.cut());
  }

  #laterOn(carrier: Carrier, ms: number, run: () => void): void {
    this.later(ms, () => {
      if (!carrier.isGone) run();
    });
  }
}

function connectionOf(socket: Socket): Carrier {
  return {
    get isGone() {
      return socket.destroyed;
    },
    reset: () => socket.resetAndDestroy(),
    cut: () => socket.destroy(),
    retire: answer => void Object.assign(answer, { shouldKeepAlive: false }),
  };
}

function streamOf({ stream }: Http2ServerRequest): Carrier {
  return {
    get isGone() {
      return stream.destroyed;
    },
    reset: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    cut: () => stream.session?.destroy(),
    retire: () => stream.session?.close(),
  };
}
