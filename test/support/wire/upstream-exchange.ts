import type { CapturedRequest } from './captured-request.ts';
import type { WireFields } from './fields.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/** Answers one request. It runs as soon as the header section is there; when it returns, the response is finished. */
export type Script = (exchange: UpstreamExchange) => void | Promise<void>;

/** Something waited for a connection that went away. It ends a script quietly. */
export class ConnectionGone extends Error {
  override readonly name = 'ConnectionGone';
}

/** One request in a script's hands. */
export class UpstreamExchange {
  readonly connection: UpstreamConnection;
  readonly request: CapturedRequest;
  /** For the connection: until the script has returned, a further request on it is a violation. */
  answering = true;
  readonly #whole = Promise.withResolvers<void>();

  constructor(connection: UpstreamConnection, request: CapturedRequest) {
    this.connection = connection;
    this.request = request;
    // A script that never waits for the body does not have to handle its failure either.
    this.#whole.promise.catch(() => {});
  }

  /** Resolves when the whole request is there, rejects when the connection goes before. */
  received(): Promise<void> {
    return this.#whole.promise;
  }

  /** Resolves when the gateway has ended the connection. */
  get gone(): Promise<void> {
    return this.connection.gone;
  }

  /** Sends bytes as they are. Resolves when the system took them. */
  send(bytes: string | Buffer): Promise<void> {
    return this.connection.write(bytes);
  }

  /** Sends a whole response with Content-Length, unless the status forbids it. */
  answer(status: number, fields: WireFields = [], body: string | Buffer = ''): Promise<void> {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    const lines: string[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}\r\n`);
    if (status >= 200 && status !== 204 && status !== 304) lines.push(`Content-Length: ${bytes.length}\r\n`);
    const head = Buffer.from(`HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`, 'latin1');
    return this.send(this.request.method === 'HEAD' ? head : Buffer.concat([head, bytes]));
  }

  /** For the connection: the request is complete. */
  requestComplete(trailers: WireFields): void {
    this.request.trailers = trailers;
    this.request.complete = true;
    this.#whole.resolve();
  }

  /** For the connection: nothing more will come. */
  connectionGone(): void {
    this.#whole.reject(new ConnectionGone());
  }
}
