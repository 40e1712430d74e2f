import { encode, type Protocol, type Reply } from './reply.ts';
import { RequestReader } from './request-reader.ts';

/** The way to the other end of a connection. */
export interface Wire {
  send(bytes: Buffer): void;
  /** Ends the connection, with whatever is on its way. */
  close(): void;
}

/** A connection, as the server knows it. */
export class Client {
  readonly id: number;
  readonly channels = new Set<string>();
  readonly reader = new RequestReader();
  protocol: Protocol = 2;
  isAuthenticated: boolean;
  isOpen = true;
  readonly #wire: Wire;
  #waiting = '';

  constructor(id: number, wire: Wire, isAuthenticated: boolean) {
    this.id = id;
    this.#wire = wire;
    this.isAuthenticated = isAuthenticated;
  }

  /** Adds to what is sent next. */
  reply(reply: Reply): void {
    if (this.isOpen) this.#waiting += encode(reply, this.protocol);
  }

  flush(): void {
    if (this.#waiting === '') return;
    const bytes = Buffer.from(this.#waiting, 'latin1');
    this.#waiting = '';
    this.#wire.send(bytes);
  }

  /** Sends what it owes, and closes. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.flush();
    this.#wire.close();
  }
}
