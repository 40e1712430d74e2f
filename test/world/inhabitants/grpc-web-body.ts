import type { Draws } from '../kernel/draws.ts';
import { framed, MessageWriter } from './messages.ts';

const TEXT = 'application/grpc-web-text';
const BINARY = 'application/grpc-web';
/** Set in the flags of the frame that holds the trailers. */
const TRAILERS = 0x80;
/** What stands before each frame. */
const HEAD_BYTES = 5;
const NONE: ReadonlyMap<string, string> = new Map();

/** How a client of gRPC-Web writes its request, and which response it says it takes; `null`: it says nothing. */
export interface WebForm {
  readonly sendsText: boolean;
  readonly accepts: typeof TEXT | typeof BINARY | null;
}

export function drawForm(draws: Draws): WebForm {
  return { sendsText: draws.percent(50), accepts: draws.one([null, BINARY, TEXT]) };
}

/** The fields of a request that say how it speaks gRPC-Web. */
export function fieldsOfForm({ sendsText, accepts }: WebForm): string[] {
  const fields = ['x-grpc-web', '1', 'content-type', `${sendsText ? TEXT : BINARY}+proto`];
  return accepts === null ? fields : [...fields, 'accept', accepts];
}

/** Whether this is the content type that the response must have (docs/grpc.md). */
export function isTypeFor({ sendsText, accepts }: WebForm, contentType: string | undefined): boolean {
  return contentType?.split('+')[0] === (accepts ?? (sendsText ? TEXT : BINARY));
}

/** A request's body as its client sends it. */
export interface WebBody {
  readonly text: string;
  /** What it says its length is; `null`: nothing. */
  readonly length: number | null;
  /** What comes behind it: its end, silence, or the end of the connection or the stream. */
  readonly end: 'proper' | 'silence' | 'leave';
}

/** Writes the one message of a request. @param isGood neither wrong nor cut off */
export function webBodyFor(id: string, { sendsText }: WebForm, draws: Draws, isGood: boolean): WebBody {
  const whim = isGood ? 99 : draws.whole(0, 99);
  const message = framed(new MessageWriter(`${id} request`).next(draws, true)).toString('latin1');
  const frames = whim < 6 ? spoilt(message, draws) : message;
  const written = sendsText ? inBase64(frames, draws) : frames;
  const isNoise = sendsText && whim >= 6 && whim < 8;
  const whole = isNoise ? `${written.slice(0, 2)}!${written.slice(3)}` : written;
  const length = draws.percent(50) ? whole.length : null;
  if (whim < 8 || whim >= 16) return { text: whole, length, end: 'proper' };
  const half = whole.slice(0, draws.whole(0, whole.length - 1));
  return { text: half, length, end: draws.one(['silence', 'leave']) };
}

/** Something else than messages: one that is cut off, or trailers behind one. */
function spoilt(message: string, draws: Draws): string {
  if (draws.percent(50)) return message.slice(0, draws.whole(1, message.length - 1));
  const trailers = framed('x-more: 1\r\n');
  trailers.writeUInt8(TRAILERS);
  return message + trailers.toString('latin1');
}

/** Some encode everything at once, others piece by piece. */
function inBase64(text: string, draws: Draws): string {
  const at = draws.percent(50) ? draws.whole(0, text.length) : 0;
  return [text.slice(0, at), text.slice(at)].map(piece => btoa(piece)).join('');
}

/** A response's body in its parts. */
export interface WebParts {
  /** All before the trailers, as gRPC frames it. */
  readonly messages: string;
  readonly trailers: ReadonlyMap<string, string>;
  /** What is wrong with it; `null`: nothing is. */
  readonly flaw: string | null;
}

/** Parts the body of a response, or what has come of one that was broken. */
export function partWebBody(body: string, isText: boolean, isWhole: boolean): WebParts {
  const bytes = isText ? fromBase64(body, isWhole) : body;
  if (bytes === null) return { messages: '', trailers: NONE, flaw: 'text that is no base64' };
  let at = 0;
  while (at < bytes.length && bytes.charCodeAt(at) === 0) at = endOfFrame(bytes, at);
  const messages = bytes.slice(0, at);
  if (at >= bytes.length) return { messages, trailers: NONE, flaw: null };
  const end = endOfFrame(bytes, at);
  if (bytes.charCodeAt(at) !== TRAILERS || end < bytes.length)
    return { messages, trailers: NONE, flaw: 'something behind its messages that is not the trailers' };
  if (end > bytes.length)
    return { messages, trailers: NONE, flaw: isWhole ? 'a part of its trailers' : null };
  return { messages, ...trailersIn(bytes.slice(at + HEAD_BYTES)) };
}

/** Where the frame ends that begins there; beyond everything if its length has not come. */
function endOfFrame(bytes: string, at: number): number {
  const length = Buffer.from(bytes.slice(at + 1, at + HEAD_BYTES), 'latin1');
  return length.length < 4 ? Number.POSITIVE_INFINITY : at + HEAD_BYTES + length.readUInt32BE();
}

function trailersIn(text: string): Pick<WebParts, 'trailers' | 'flaw'> {
  const lines = text.split('\r\n');
  const trailers = new Map<string, string>();
  let flaw = lines.pop() === '' ? null : 'trailers without an end';
  for (const line of lines) {
    const [, name, value = ''] = /^([a-z0-9._-]+): (.*)$/.exec(line) ?? [];
    if (name === undefined || trailers.has(name)) flaw = `the trailer ${line}`;
    else trailers.set(name, value);
  }
  return { trailers, flaw };
}

/** Decodes groups that may be padded anywhere; `null` if they are none. The last one of a body that was broken may be cut off. */
function fromBase64(text: string, isWhole: boolean): string | null {
  const whole = isWhole ? text : text.slice(0, text.length - (text.length % 4));
  const pieces = whole.match(/[A-Za-z0-9+/]+={0,2}/g) ?? [];
  const isText = pieces.join('').length === whole.length && pieces.every(({ length }) => length % 4 === 0);
  return isText ? pieces.map(piece => Buffer.from(piece, 'base64').toString('latin1')).join('') : null;
}
