import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type {
  HeaderSection,
  RequestHandler,
  ServerStream,
  StreamEnd,
} from '../../../src/wire/http2/index.ts';
import type { Random } from '../random.ts';
import { fields } from './http2-parts.ts';

const NO_ERROR = 0;
const NO_BYTES: Buffer = Buffer.alloc(0);
const RESET_CODES = [2, 5, 7, 8, 11];

/** A message as its sender says it was sent, or as its reader says it came. */
class Message {
  /** Names and values in turn; of interim responses first. */
  readonly sections: (readonly string[])[] = [];
  body = '';
  trailers: readonly string[] = [];
  isWhole = false;
  /** Code of the RST_STREAM that the side sent, or was told; `null`: none. */
  code: number | null = null;

  /** Takes random bytes of a body that may have so many. */
  grow(random: Random, most: number): Buffer {
    const bytes = Buffer.alloc(1 + random.below(most), random.pick(['x', 'body ', '\0\xff']), 'latin1');
    this.body += bytes.toString('latin1');
    return bytes;
  }

  /** Says how what came differs from what was sent; `null` if it does not, as far as it came. */
  difference(came: Message): string | null {
    const isPart =
      JSON.stringify(came.sections) === JSON.stringify(this.sections.slice(0, came.sections.length)) &&
      this.body.startsWith(came.body);
    const isAll =
      this.isWhole &&
      came.sections.length === this.sections.length &&
      came.body === this.body &&
      JSON.stringify(came.trailers) === JSON.stringify(this.trailers);
    if (isPart && (came.isWhole ? isAll : true)) return null;
    const brief = ({ sections, body, trailers, isWhole, code }: Message) => [
      ...[sections, body.length, trailers, isWhole, code],
    ];
    return `sent ${JSON.stringify(brief(this))}, came ${JSON.stringify(brief(came))}`;
  }
}

/** The client's side of an exchange, in a session of Node. */
export class NodeExchange {
  readonly request = new Message();
  readonly response = new Message();
  isClosed = false;
  readonly #stream: ClientHttp2Stream;
  readonly #random: Random;
  #bytesLeft: number;
  #isSending = true;

  /** @param path names the exchange, so that both sides know it */
  constructor(session: ClientHttp2Session, path: string, random: Random) {
    this.#random = random;
    const head = [':method', random.pick(['GET', 'POST', 'OPTIONS']), ':scheme', 'http', ':path', path];
    const section = [...head, ':authority', 'a.test', ...fields(random).flat()];
    this.request.sections.push(section);
    this.#isSending = random.chance(0.7);
    this.request.isWhole = !this.#isSending;
    this.#bytesLeft = random.below(random.pick([1, 100, 5_000, 40_000]));
    const hasTrailers = this.#isSending && random.chance(0.3);
    if (hasTrailers) this.request.trailers = ['x-length', String(this.#bytesLeft), 'x-end', '\xc4'];
    this.#stream = session.request([...section], {
      ...{ endStream: !this.#isSending, waitForTrailers: hasTrailers },
    });
    this.#listen();
  }

  /** Sends a part of the body, or its end; seldom gives the exchange up. */
  step(): void {
    if (this.isClosed || this.request.code !== null) return;
    if (this.#random.chance(0.002) && (!this.#isSending || this.request.trailers.length === 0)) {
      // Node ends the request first, and sends that or not.
      this.request.isWhole = true;
      this.request.code = this.#random.pick(RESET_CODES);
      this.#stream.close(this.request.code);
    } else if (this.#isSending && this.#bytesLeft > 0) {
      const bytes = this.request.grow(this.#random, this.#bytesLeft);
      this.#bytesLeft -= bytes.length;
      this.#stream.write(bytes);
    } else if (this.#isSending) {
      this.#isSending = false;
      this.request.isWhole = true;
      this.#stream.end();
    }
  }

  #listen(): void {
    const { response } = this;
    this.#stream.on('error', () => {});
    this.#stream.on('wantTrailers', () => {
      const [first = '', length = '', second = '', end = ''] = this.request.trailers;
      this.#stream.sendTrailers({ [first]: length, [second]: end });
    });
    this.#stream.on('headers', (_headers, _flags, section: string[]) => response.sections.push(section));
    this.#stream.on('response', (_headers, _flags, section: string[]) => response.sections.push(section));
    this.#stream.on('trailers', (_headers, _flags, section: string[]) => {
      response.trailers = section;
    });
    this.#stream.on('data', (piece: Buffer) => {
      response.body += piece.toString('latin1');
    });
    this.#stream.on('end', () => {
      // It comes as well where the stream is reset.
      response.isWhole = this.#stream.rstCode === NO_ERROR;
    });
    this.#stream.on('close', () => {
      this.isClosed = true;
      response.code = this.#stream.rstCode ?? null;
      if (response.code === NO_ERROR) response.isWhole = true;
    });
  }
}

/** The server's side of an exchange, in a session of ours. */
export class OurExchange implements RequestHandler {
  readonly request = new Message();
  readonly response = new Message();
  /** How the session said the stream ended; `null` before. */
  end: StreamEnd | null = null;
  /** Whether it reads the whole request before its response ends. */
  readonly readsAll: boolean;
  readonly #stream: ServerStream;
  readonly #random: Random;
  #bytesLeft: number;
  /** The piece of the request that came last. */
  #held = NO_BYTES;
  /** What was written and may not change yet. */
  #unsent: Buffer[] = [];
  #phase: 'head' | 'body' | 'over' = 'head';

  constructor(stream: ServerStream, { fields, flaw }: HeaderSection, ends: boolean, random: Random) {
    this.#stream = stream;
    this.#random = random;
    this.request.sections.push(flaw === null ? fields : [flaw]);
    this.request.isWhole = ends;
    this.readsAll = random.chance(0.7);
    this.#bytesLeft = random.below(random.pick([1, 100, 5_000, 60_000]));
  }

  /** Takes more of the request, and sends a part of the response, or its end; seldom gives the exchange up. */
  step(): void {
    this.#read();
    this.#stream.resume();
    if (this.end !== null || this.response.code !== null) return;
    if (this.#random.chance(0.002)) this.#giveUp();
    else if (this.#phase === 'head') this.#head();
    else if (this.#phase === 'body' && this.#unsent.length === 0) this.#body();
  }

  #giveUp(): void {
    this.response.code = this.#random.pick(RESET_CODES);
    this.#stream.cancel(this.response.code);
  }

  #head(): void {
    const section = fields(this.#random).flat();
    if (this.#random.chance(0.2)) {
      this.response.sections.push([':status', '103', ...section]);
      this.#stream.info(103, section);
      return;
    }
    const ends = this.#mayEnd && this.#random.chance(0.1);
    const status = this.#random.pick([200, 200, 404, 503]);
    this.response.sections.push([':status', String(status), ...section]);
    this.#stream.respond(status, section, ends);
    if (ends) this.#finish();
    else this.#phase = 'body';
  }

  #body(): void {
    if (this.#bytesLeft > 0) {
      const bytes = this.response.grow(this.#random, this.#bytesLeft);
      this.#bytesLeft -= bytes.length;
      // The session says when it needs them no more.
      if (this.#stream.write(bytes)) bytes.fill('?');
      else this.#unsent.push(bytes);
      return;
    }
    if (!this.#mayEnd) return;
    if (this.#random.chance(0.3))
      this.response.trailers = ['grpc-status', '0', ...fields(this.#random).flat()];
    this.#stream.end(this.response.trailers);
    this.#finish();
  }

  get #mayEnd(): boolean {
    return !this.readsAll || this.request.isWhole;
  }

  #finish(): void {
    this.#phase = 'over';
    this.response.isWhole = true;
    if (!this.readsAll && this.#random.chance(0.7)) this.#stream.dropRest();
  }

  /** Reads the piece that came last, which nobody may have changed meanwhile. */
  #read(): void {
    this.request.body += this.#held.toString('latin1');
    this.#held = NO_BYTES;
  }

  section(section: HeaderSection): void {
    this.request.trailers = section.flaw === null ? section.fields : [section.flaw];
  }

  data(bytes: Buffer): boolean {
    this.#read();
    this.#held = bytes;
    return this.#random.chance(0.7);
  }

  ended(): void {
    this.#read();
    this.request.isWhole = true;
  }

  drained(): void {
    for (const bytes of this.#unsent.splice(0)) bytes.fill('?');
  }

  malformed(why: string): void {
    this.request.sections.push([why]);
  }

  closed(end: StreamEnd): void {
    this.#read();
    this.end = end;
    if (end.how === 'reset') this.request.code = end.code;
  }
}

/**
 * Whether both sides are done. Node's client never closes a stream that was reset by NO_ERROR behind its response while it was
 * sending the request.
 */
export function isOver(node: NodeExchange, ours: OurExchange | undefined): boolean {
  if (node.isClosed) return true;
  return (
    ours?.readsAll === false && ours.end !== null && (node.response.isWhole || node.request.code !== null)
  );
}

/** Says what the sides of an exchange that is over tell differently; `null` if nothing. */
export function disagreement(node: NodeExchange, ours: OurExchange | undefined): string | null {
  const { code } = node.request;
  if (ours === undefined) return code === null ? `no request came: ${node.response.code}` : null;
  const difference = node.request.difference(ours.request) ?? ours.response.difference(node.response);
  if (difference !== null) return difference;
  const told = ours.request.code;
  if (told !== null && told !== code) return `reset by Node with ${code}, ours was told ${told}`;
  if (code !== null) return null;
  if (node.response.isWhole && (ours.request.isWhole || !ours.readsAll)) return null;
  if (ours.response.code !== null && ours.response.code === node.response.code) return null;
  return `it ended by ${ours.end?.how} and ${node.response.code}`;
}
