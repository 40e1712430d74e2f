import { type BodySource, type Fields, NO_NAMES } from '../core/index.ts';
import { ConnectionMemory, type Downstream } from '../gateway/index.ts';
import { requestFraming } from '../http1/index.ts';

/** A request of a test, as it comes over a connection. */
export interface SentRequest {
  readonly method: string;
  readonly target: string;
  /** `h2` means a gRPC call. */
  readonly protocol: 'http1' | 'h2';
  readonly fields: Fields;
  readonly peer: string;
}

/** The client's side of a request without a body, on a connection of its own. Keeps the fields of the response. */
export class TestDownstream implements Downstream {
  readonly method: string;
  readonly target: string;
  readonly protocol: 'http1' | 'h2';
  readonly version: '1.1' | '2';
  readonly fields: Fields;
  readonly neverIndexed = NO_NAMES;
  readonly framing: Downstream['framing'];
  readonly peer: string;
  readonly scheme = 'https';
  readonly redirects = false;
  readonly onlyCalls = false;
  readonly clientCertificate = null;
  readonly memory = new ConnectionMemory(true);
  readonly bytesReceived = 0;
  /** The fields of the response, as the gateway hands them to its listener. */
  received: Fields = [];
  readonly #over = Promise.withResolvers<void>();

  constructor({ method, target, protocol, fields, peer }: SentRequest) {
    this.method = method;
    this.target = target;
    this.protocol = protocol;
    this.version = protocol === 'h2' ? '2' : '1.1';
    this.fields = fields;
    this.framing = requestFraming(fields, 1);
    this.peer = peer;
  }

  /** Resolves when the response is complete. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  body(): BodySource {
    throw new Error('a request of a test has no body');
  }

  neverIndex(): void {}

  answer(_status: number, _reason: string, fields: Fields): void {
    this.received = fields;
    this.#over.resolve();
  }

  info(): void {}

  head(_status: number, _reason: string, fields: Fields): void {
    this.received = fields;
  }

  write(): boolean {
    return true;
  }

  end(): void {
    this.#over.resolve();
  }

  switchProtocols(): boolean {
    return false;
  }

  abort(): void {
    this.#over.resolve();
  }
}
