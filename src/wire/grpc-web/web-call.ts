import {
  type BodyLength,
  type BodySink,
  type BodySource,
  type Fields,
  firstValue,
} from '../../core/index.ts';
import { Base64Decoder } from './base64.ts';
import { MessageFrames, trailersFrame } from './frames.ts';

// gRPC-Web: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md. Messages have the form that they have in gRPC. Trailers
// are a frame at the end of the response, and in the text form bodies are base64.

const WEB = /^application\/grpc-web(-text)?(?=[+;]|$)/i;
const WEB_TEXT = /^application\/grpc-web-text(?=[+;]|$)/i;
const GRPC = /^application\/grpc(?=[+;]|$)/i;

export function isGrpcWeb(contentType: string): boolean {
  return WEB.test(contentType);
}

/** Whether the client of a call accepts the response as text: according to `Accept`, or because it sends text itself. */
export function takesText(fields: Fields): boolean {
  const accepted = firstValue(fields, 'accept') ?? '';
  if (/application\/grpc-web/i.test(accepted)) return /application\/grpc-web-text/i.test(accepted);
  return WEB_TEXT.test(firstValue(fields, 'content-type') ?? '');
}

/** The content type of responses in either form. */
function mediaType(isText: boolean): string {
  return isText ? 'application/grpc-web-text' : 'application/grpc-web';
}

/** A trailers-only response: its content type, and its body with one byte per character. */
export function trailersOnly(trailers: Fields, isText: boolean): { contentType: string; body: string } {
  const body = trailersFrame(trailers).toString(isText ? 'base64' : 'latin1');
  return { contentType: `${mediaType(isText)}+proto`, body };
}

/**
 * Request fields that belong to gRPC-Web, or ask for an encoding of the whole response. They are not forwarded: the service gets
 * plain gRPC, and the gateway appends the trailers to the messages of its response.
 */
const OF_WEB = new Set(['x-grpc-web', 'accept', 'accept-encoding']);
/** Response fields that are wrong once the trailers are in the body. */
const OF_CALL = new Set(['content-length', 'trailer']);

/** Translates a gRPC-Web call into a gRPC call, and its response back, piece by piece. */
export class WebCall {
  readonly #sendsText: boolean;
  readonly #takesText: boolean;
  readonly #answered = new MessageFrames();

  constructor(fields: Fields) {
    this.#sendsText = WEB_TEXT.test(firstValue(fields, 'content-type') ?? '');
    this.#takesText = takesText(fields);
  }

  requestFields(fields: Fields): Fields {
    return rewrite(fields, OF_WEB, type => type.replace(WEB, 'application/grpc'));
  }

  /** The length of the body for the service, from that of the client's body. */
  requestLength(length: BodyLength): BodyLength {
    return this.#sendsText && length !== 0 ? 'chunked' : length;
  }

  /**
   * The request's body for the service.
   *
   * @param refuse called instead of the sink, at most once, with the reason why the body does not consist of messages
   */
  requestBody(source: BodySource, refuse: (why: string) => void): BodySource {
    return new RequestMessages(source, this.#sendsText ? new Base64Decoder() : null, refuse);
  }

  /** Whether a response of the service is a gRPC response. */
  isAnswer(status: number, fields: Fields): boolean {
    return status === 200 && GRPC.test(firstValue(fields, 'content-type') ?? '');
  }

  /** The fields of the response's head, for the client. */
  responseFields(fields: Fields): Fields {
    return rewrite(fields, OF_CALL, type => type.replace(GRPC, mediaType(this.#takesText)));
  }

  /** A piece of the response's body for the client: the same bytes, or text. `null` if they are not messages. */
  responseBytes(bytes: Buffer): Buffer | null {
    return this.#answered.read(bytes) ? this.#written(bytes) : null;
  }

  /** The end of the response's body, with its trailers. `null` inside a message, which would swallow them. */
  end(trailers: Fields): Buffer | null {
    return this.#answered.isBetween ? this.#written(trailersFrame(trailers)) : null;
  }

  /** Text ends with padding here. Otherwise its last bytes would be held back, and reach the client with the next message. */
  #written(bytes: Buffer): Buffer {
    return this.#takesText ? Buffer.from(bytes.toString('base64'), 'latin1') : bytes;
  }
}

function rewrite(fields: Fields, without: ReadonlySet<string>, contentType: (type: string) => string) {
  const out: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const lowerName = name.toLowerCase();
    const value = fields[i + 1] as string;
    if (without.has(lowerName)) continue;
    out.push(name, lowerName === 'content-type' ? contentType(value) : value);
  }
  return out;
}

/** The messages in the body of a request. Holds none of them back, except up to three characters of text. */
class RequestMessages implements BodySource, BodySink {
  readonly #source: BodySource;
  readonly #text: Base64Decoder | null;
  readonly #refuse: (why: string) => void;
  readonly #frames = new MessageFrames();
  #sink: BodySink | null = null;

  constructor(source: BodySource, text: Base64Decoder | null, refuse: (why: string) => void) {
    this.#source = source;
    this.#text = text;
    this.#refuse = refuse;
  }

  get started(): boolean {
    return this.#source.started;
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    this.#source.start(this);
  }

  pause(): void {
    this.#source.pause();
  }

  resume(): void {
    this.#source.resume();
  }

  chunk(bytes: Buffer): boolean {
    if (this.#sink === null) return true;
    const decoded = this.#text === null ? bytes : this.#text.decode(bytes);
    if (decoded === null) return this.#stop('the body is not base64');
    if (!this.#frames.read(decoded)) return this.#stop('the body contains something other than messages');
    return decoded.length === 0 || this.#sink.chunk(decoded);
  }

  end(): void {
    const isWhole = this.#frames.isBetween && (this.#text === null || this.#text.isWhole);
    if (this.#sink === null) return;
    if (isWhole) this.#sink.end();
    else this.#stop('the body ends within a message');
  }

  fail(): void {
    this.#sink?.fail();
  }

  /** Never passes on the end of the body: the service must not treat what it has as a complete request. */
  #stop(why: string): true {
    this.#sink = null;
    this.#refuse(why);
    return true;
  }
}
