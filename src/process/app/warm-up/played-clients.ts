import type { Socket } from 'node:net';
import type { HostPort } from '../../../config/index.ts';
import type { Network } from '../../../core/index.ts';
import { CallFrames, CLIENT_BEGINS, FrameScan } from './played-frames.ts';

export type PlayedKind = 'http1' | 'http2' | 'grpc';

const HOST = 'warm-up.invalid';
const PATH = '/played/things?limit=20';
const SUCCESS = 'HTTP/1.1 200 ';

const METHOD = '/played.Things/Get';

/** Streams in flight on a connection of HTTP/2. */
const STREAMS = 8;

interface PlayedClientOptions {
  readonly network: Network;
  readonly address: HostPort;
  readonly isTls: boolean;
  /** Fields that every request has, as names and values in turn. */
  readonly fields: readonly string[];
}

/** A client that sends its next request as soon as it has the response to the last. */
export class PlayedClient {
  readonly kind: PlayedKind;
  answered = 0;
  /** Resolves at the first response, or when none will come. */
  readonly begun: Promise<void>;
  /** Resolves when it sends no more requests, whatever the reason. */
  readonly ended: Promise<void>;
  #begin: () => void = () => {};
  readonly #socket: Socket;

  constructor(kind: PlayedKind, { network, address, isTls, fields }: PlayedClientOptions) {
    this.kind = kind;
    const ALPNProtocols = [kind === 'http1' ? 'http/1.1' : 'h2'];
    this.#socket = isTls
      ? network.secureConnect({ ...address, ALPNProtocols, rejectUnauthorized: false })
      : network.connect({ ...address, noDelay: true });
    this.#socket.on('error', () => {});
    this.ended = new Promise(resolve => this.#socket.on('close', () => resolve()));
    this.begun = new Promise(resolve => {
      this.#begin = resolve;
      this.#socket.on('close', resolve);
    });
    this.#socket.once(isTls ? 'secureConnect' : 'connect', () =>
      kind === 'http1' ? this.#ask(fields) : this.#call(fields, kind === 'grpc'),
    );
  }

  stop(): void {
    this.#socket.destroy();
  }

  #ask(fields: readonly string[]): void {
    const lines = fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}`] : []));
    const request = `GET ${PATH} HTTP/1.1\r\nHost: ${HOST}\r\nUser-Agent: weir\r\nAccept: */*\r\n${lines.join('\r\n')}\r\n\r\n`;
    this.#socket.on('data', (bytes: Buffer) => {
      // A response is smaller than a segment, so it arrives in one piece.
      if (bytes.toString('latin1', 0, SUCCESS.length) === SUCCESS) this.answered++;
      this.#begin();
      this.#socket.write(request);
    });
    this.#socket.write(request);
  }

  #call(fields: readonly string[], isCall: boolean): void {
    const names = fields.map((field, at) => (at % 2 === 0 ? field.toLowerCase() : field));
    const head = isCall
      ? [':method', 'POST', ':scheme', 'http', ':path', METHOD, ':authority', HOST]
      : [':method', 'GET', ':scheme', 'http', ':path', PATH, ':authority', HOST];
    const more = isCall ? ['content-type', 'application/grpc', 'te', 'trailers'] : ['accept', '*/*'];
    const request = [...head, ...names, ...more, 'user-agent', 'weir'];
    const frames = new CallFrames();
    let stream = -1;
    const ask = (count: number) => {
      const next = Array.from({ length: count }, () => {
        stream += 2;
        return frames.request(stream, request, isCall);
      });
      if (count > 0) this.#socket.write(Buffer.concat(next));
    };
    const scan = new FrameScan(
      false,
      ended => {
        this.answered += ended.length;
        if (ended.length > 0) this.#begin();
        ask(ended.length);
      },
      reply => this.#socket.write(reply),
    );
    this.#socket.on('data', scan.take);
    this.#socket.write(CLIENT_BEGINS);
    ask(STREAMS);
  }
}
