import type { WireFields } from './fields.ts';
import type { Framing } from './framing.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/** What a request's header section says. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly fields: WireFields;
  /** The header section, byte for byte. */
  readonly head: Buffer;
  readonly framing: Framing;
}

/** A request as it came over the wire. It is still filling while `complete` is false. */
export class CapturedRequest implements RequestHead {
  readonly connection: UpstreamConnection;
  readonly method: string;
  readonly target: string;
  readonly fields: WireFields;
  readonly head: Buffer;
  readonly framing: Framing;
  readonly #keepBytes: number;
  readonly #pieces: Buffer[] = [];
  bodyBytes = 0;
  trailers: WireFields = [];
  complete = false;
  /** Hears every piece of the body as it comes; for bodies that are too large to keep. */
  onData: ((bytes: Buffer) => void) | null = null;

  constructor(connection: UpstreamConnection, head: RequestHead, keepBytes: number) {
    this.connection = connection;
    this.method = head.method;
    this.target = head.target;
    this.fields = head.fields;
    this.head = head.head;
    this.framing = head.framing;
    this.#keepBytes = keepBytes;
  }

  /** The body without its framing, up to the number of bytes that the upstream keeps. */
  get body(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  /** For the connection: a piece of the body came. */
  data(bytes: Buffer): void {
    const room = this.#keepBytes - this.bodyBytes;
    // A copy, so that a piece kept does not keep the whole read buffer alive.
    if (room > 0) this.#pieces.push(Buffer.from(bytes.subarray(0, room)));
    this.bodyBytes += bytes.length;
    this.onData?.(bytes);
  }
}
