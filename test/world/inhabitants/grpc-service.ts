import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Network } from '../../../src/core/index.ts';
import type { Draws } from '../kernel/draws.ts';
import { framed, MessageReader, MessageWriter, unframed } from './messages.ts';
import { Service } from './service.ts';

/** Services of gRPC: anyone may have some words, clients give a second for others, and some need a token. */
export const WORDS = 'world.Words';
export const HASTY_WORDS = 'world.HastyWords';
export const OWN_WORDS = 'world.OwnWords';
export const HASTE_MS = 1_000;

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;

/** A call that is answered. */
interface Call {
  readonly stream: ServerHttp2Stream;
  readonly id: string;
  readonly draws: Draws;
  readonly writer: MessageWriter;
}

/** A service that speaks gRPC: one message for one, or many both ways, and by its own whims. */
export class GrpcService extends Service {
  protected listen(network: Network, listening: () => void): void {
    const server = createServer({ settings: { maxConcurrentStreams: this.draws.one([100, 3]) } });
    server.on('session', session => session.on('error', () => {}));
    server.on('stream', (stream: ServerHttp2Stream, fields) => this.#serve(stream, fields));
    const place = { host: this.host.address, port: this.port };
    network.createServer({}, socket => server.emit('connection', socket)).listen(place, listening);
  }

  #serve(stream: ServerHttp2Stream, fields: IncomingHttpHeaders): void {
    const id = String(fields['x-world'] ?? '');
    this.heard(id, `to answer the call ${fields[':path']}`, fields.authorization !== undefined);
    this.#judge(id, fields);
    const whim = this.whimFor(id);
    const draws = this.draws.part(`${id} answer`);
    stream.on('error', () => {});
    // Its connection may have gone with what it brought.
    if (isGone(stream)) return;
    this.#listenTo(stream, id);
    const call: Call = { stream, id, draws, writer: new MessageWriter(`${id} response`) };
    const count = fields[':path']?.endsWith('/Unary') === true ? 1 : draws.whole(1, 10);
    if (whim < 50) this.#talk(call, count, true);
    else if (whim < 70) this.#laterOn(stream, draws.between(1, 3_000), () => this.#talk(call, count, true));
    else if (whim < 75) this.#talk(call, draws.whole(0, count), false);
    else if (whim < 80)
      stream.respond({ ...headOf(id), 'grpc-status': draws.one([3, 5, 13, 14]) }, { endStream: true });
    else if (whim < 87) {
      const code = draws.one([NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR]);
      this.#laterOn(stream, draws.between(1, 500), () => stream.close(code));
    } else if (whim < 90) this.#laterOn(stream, draws.between(1, 500), () => stream.session?.destroy());
    else if (whim < 94) {
      this.#talk(call, count, true);
      stream.session?.close();
    }
    // Others never hear of it again.
  }

  /** Looks whether a call is one of gRPC, also of a client that speaks gRPC-Web, and says its deadline. */
  #judge(id: string, fields: IncomingHttpHeaders): void {
    const wrong = (what: string) => this.world.wrong('own request', `${this.name} got ${id} with ${what}`);
    const { [':path']: path = '', te, 'content-type': type = '', 'grpc-timeout': timeout } = fields;
    if (!/^application\/grpc(\+|$)/.test(type) || te !== 'trailers' || 'x-grpc-web' in fields)
      wrong('a head that is not of gRPC');
    const [, ms = Number.POSITIVE_INFINITY] = /^(\d+)m$/.exec(String(timeout)) ?? [];
    if (path.includes(HASTY_WORDS) && Number(ms) > HASTE_MS) wrong(`the deadline ${timeout}`);
  }

  /** Reads the request, and looks whether it is its own. */
  #listenTo(stream: ServerHttp2Stream, id: string): void {
    const reader = new MessageReader(`${id} request`);
    let text = '';
    stream.on('data', (bytes: Buffer) => {
      const { messages, rest } = unframed(text + bytes.toString('latin1'));
      text = rest;
      for (const message of messages) {
        const flaw = reader.take(message);
        if (flaw !== null) this.world.wrong('own request', `${this.name} got for ${id} ${flaw}`);
      }
    });
    stream.on('end', () => {
      const isBroken = stream.aborted || stream.destroyed || (stream.rstCode ?? 0) !== 0;
      if (!isBroken && (!reader.isWhole || text !== ''))
        this.world.wrong('own request', `${this.name} got a part of ${id} that looks whole`);
    });
  }

  /** Sends so many messages, and a status that says whether these are all. */
  #talk(call: Call, count: number, areAll: boolean): void {
    const { stream, id, draws, writer } = call;
    if (!stream.headersSent) {
      stream.respond(headOf(id), { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': areAll ? 0 : 13 }));
    }
    if (count === 0) stream.end();
    else {
      stream.write(framed(writer.next(draws, areAll && count === 1)), 'latin1');
      const waitsMs = draws.percent(50) ? draws.between(1, 800) : 1;
      this.#laterOn(stream, waitsMs, () => this.#talk(call, count - 1, areAll));
    }
  }

  #laterOn(stream: ServerHttp2Stream, ms: number, run: () => void): void {
    this.later(ms, () => {
      if (!isGone(stream)) run();
    });
  }
}

function headOf(id: string): OutgoingHttpHeaders {
  return { ':status': 200, 'content-type': 'application/grpc', 'x-world': id, date: 'now' };
}

function isGone({ closed, destroyed }: ServerHttp2Stream): boolean {
  return closed || destroyed;
}
