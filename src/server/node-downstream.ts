import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type Fields, firstValue } from '../core/index.ts';
import type { Downstream } from '../gateway/index.ts';
import type { BodySource, Taken } from '../upstream/index.ts';
import { NodeBody } from './node-body.ts';

/** A body that is still to come and no longer than this is read to its end, so that the connection can be kept. */
const DISCARD_MAX_BYTES = 65_536;
const NOTHING = Buffer.alloc(0);

/** What an exchange needs of the connection it is on. */
export interface ConnectionSide {
  readonly peer: string;
  /** The answer under way is the last one. */
  readonly draining: boolean;
  /** Value of `Keep-Alive` on answers that keep the connection. */
  readonly keepAliveHint: string;
  /** The client has room again. */
  drained(): void;
  /** The body outgrew what the route accepts, after its framing had let it in. */
  bodyTooLarge(downstream: NodeDownstream): void;
  /**
   * The answer under way is the last one, and the client may still be sending: closing at once would reset the connection
   * and could take the answer from it (RFC 9112, 9.6).
   */
  lingerAfter(): void;
}

/** One request and its answer on Node's objects. */
export class NodeDownstream implements Downstream {
  readonly method: string;
  readonly target: string;
  readonly httpMinor: number;
  readonly fields: Fields;
  readonly scheme = 'http';
  readonly peer: string;
  readonly #connection: ConnectionSide;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #body: NodeBody | null = null;
  /** The answer ends where the connection does (HTTP/1.0 without a length). */
  #closeDelimited = false;
  #continued = false;
  #watchesDrain = false;

  constructor(connection: ConnectionSide, request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? '';
    this.target = request.url ?? '';
    this.httpMinor = request.httpVersionMinor;
    this.fields = request.rawHeaders;
    this.peer = connection.peer;
    this.#connection = connection;
    this.#request = request;
    this.#response = response;
    if (request.httpVersionMinor === 0) {
      // Node would send chunks to an HTTP/1.0 client that says "TE: chunked"; nobody else would understand them.
      response.useChunkedEncodingByDefault = false;
    }
  }

  get bytesReceived(): number {
    return this.#body?.bytes ?? 0;
  }

  /** Whether the whole request has been read, so that nothing of it can hold up the connection. */
  get requestComplete(): boolean {
    return this.#request.complete || !hasBody(this.#request);
  }

  /** The client has to send, and does not wait for the upstream to take. */
  get awaitsClient(): boolean {
    return this.#body?.started === true && !this.#body.paused && !this.#request.complete;
  }

  /** Whether something written has not been taken by the client's side yet. */
  get awaitsReader(): boolean {
    return (
      this.#response.writableNeedDrain || (this.#response.writableEnded && !this.#response.writableFinished)
    );
  }

  get answerBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Whether another request may follow on the connection. */
  get keepsConnection(): boolean {
    return this.#response.shouldKeepAlive;
  }

  body(maxBytes: number | null): BodySource {
    this.#body = new NodeBody(
      this.#request,
      maxBytes,
      () => this.#continue(),
      () => this.#connection.bodyTooLarge(this),
    );
    return this.#body;
  }

  answer(status: number, reason: string, fields: Fields, body: string, close: boolean): void {
    if (this.#response.destroyed) return;
    // Whatever was refused so, more may have been sent behind it.
    if (close) this.#connection.lingerAfter();
    this.#writeHead(status, reason, fields, close || this.#mustClose());
    this.#response.end(body, 'latin1');
  }

  info(status: number, fields: Fields): void {
    // Node's writeEarlyHints takes only some fields and rewrites them. The exchange is alone on its connection, and
    // nothing of its answer has been written yet.
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
    this.#request.socket.write(`${head}\r\n`, 'latin1');
  }

  head(status: number, reason: string, fields: Fields): void {
    if (this.#response.destroyed) return;
    this.#closeDelimited = this.#lacksLength(fields);
    this.#writeHead(status, reason, fields, this.#mustClose());
    // Not flushHeaders(): it would write bytes above 0x7f as UTF-8. An empty buffer takes the head along as it is.
    this.#response.write(NOTHING);
  }

  write(chunk: Buffer, taken: Taken | null): boolean {
    // Node reports a write to a destroyed response by an event that ends the process where nobody listens.
    if (this.#response.destroyed) return false;
    const more = taken === null ? this.#response.write(chunk) : this.#response.write(chunk, taken);
    if (!more && !this.#watchesDrain) {
      this.#watchesDrain = true;
      this.#response.on('drain', () => this.#connection.drained());
    }
    return more;
  }

  end(trailers: Fields): void {
    if (this.#response.destroyed) return;
    if (trailers.length > 0 && this.#response.chunkedEncoding) this.#response.addTrailers(pairs(trailers));
    this.#response.end();
  }

  abort(): void {
    // The end of a close-delimited answer looks like its whole; only a reset tells the client otherwise.
    if (this.#closeDelimited) this.#request.socket.resetAndDestroy();
    else this.#response.destroy();
  }

  /** After the answer: nothing of the request is wanted any more. */
  discardBody(): void {
    this.#body?.discard();
  }

  /** HTTP/1.0 has no chunks, so that Node ends such an answer with the connection, even where it has no body. */
  #lacksLength(fields: Fields): boolean {
    return this.httpMinor === 0 && firstValue(fields, 'content-length') === undefined;
  }

  #writeHead(status: number, reason: string, fields: Fields, close: boolean): void {
    if (close || this.#lacksLength(fields)) {
      this.#response.shouldKeepAlive = false;
      if (!this.requestComplete) this.#connection.lingerAfter();
    }
    this.#response.writeHead(status, reason, this.#framed(fields));
  }

  /** Node writes `Connection`; how long the connection is kept is ours to say, since our sweep closes it. */
  #framed(fields: Fields): string[] {
    const out = fields as string[];
    if (this.#response.shouldKeepAlive) out.push('Keep-Alive', this.#connection.keepAliveHint);
    return out;
  }

  #mustClose(): boolean {
    if (this.#connection.draining || (this.#expectsContinue && !this.#continued)) return true;
    // Behind a request for an upgrade that nobody takes, Node drops the rest of what it has read and keeps silent about
    // the parser's next error: whatever follows on this connection could be lost.
    if (this.#request.headers.upgrade !== undefined) return true;
    return !(this.requestComplete || isShort(this.#request));
  }

  get #expectsContinue(): boolean {
    return this.httpMinor === 1 && this.#request.headers.expect !== undefined;
  }

  /** The client waits to be asked for its body: RFC 9110, 10.1.1. */
  #continue(): void {
    // The request may have been refused while its upstream connection was still being made.
    if (!this.#expectsContinue || this.#response.headersSent) return;
    this.#continued = true;
    this.#response.writeContinue();
  }
}

function hasBody(request: IncomingMessage): boolean {
  return (
    request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
  );
}

function isShort(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return length !== undefined && Number(length) <= DISCARD_MAX_BYTES;
}

function pairs(fields: Fields): [string, string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) out.push([fields[i] as string, fields[i + 1] as string]);
  return out;
}
