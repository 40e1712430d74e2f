import type { HeaderSection, SectionBounds } from '../hpack/index.ts';
import type { RequestEnd, ServerStream } from './server-stream.ts';

/** The server's side of an HTTP/2 connection (RFC 9113), without its socket: bytes in, bytes out. */
export class ServerSession {
  /** How many streams are open. */
  readonly openStreams = 0;
  /** The number of bytes that `take` would return. */
  readonly unwritten = 0;
  /** True if bytes were read that wait for their turn: read no more, and call `readOn` in the next turn of the event loop. */
  readonly isBehind: boolean = false;

  constructor(_options: ServerSessionOptions, _owner: ServerSessionOwner) {}

  /**
   * Reads the bytes up to `end`. Returns whether they may be overwritten, since nobody holds parts of them. Throws
   * Http2Fault; only `goAway`, `take` and `lose` may be called then.
   */
  read(_bytes: Buffer, _end: number): boolean {
    return true;
  }

  /** Reads on where a read stopped, to let other connections have their turn. Throws Http2Fault like `read`. */
  readOn(): void {}

  /**
   * Returns what is to be written. The next frame overwrites the bytes, unless `giveAway` was called: then they are the caller's.
   */
  take(): Buffer {
    return Buffer.alloc(0);
  }

  giveAway(): void {}

  /** Sets whether the socket takes more. Set it after each write. While it does not, no DATA is sent. */
  set writable(_writable: boolean) {}

  sendPing(): void {}

  /** Says that the connection will close: streams that are already on their way are still served (RFC 9113, 6.8). */
  shutDown(): void {}

  /** Sends the last GOAWAY: streams above the last one that was looked at are ignored. */
  goAway(_code: number): void {}

  /** Closes all streams: the connection is gone. */
  lose(): void {}

  /** Lets counts of what floods sink with time, and frees what an idle connection does not need. Call it at each sweep. */
  sweep(_nowMs: number): void {}
}

/** Windows in bytes, and the bounds of a request's header section. */
export interface ServerSessionOptions extends SectionBounds {
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** Most streams at the same time. */
  readonly maxStreams: number;
  /** Whether extended CONNECT is offered (RFC 8441). */
  readonly offersConnect: boolean;
  /** Most bytes that wait to be sent. While there are more, new streams are refused. */
  readonly maxUnsent: number;
}

/** Holds the connection of a session. */
export interface ServerSessionOwner {
  /** Called when there is something to take and write by the end of this turn of the event loop. */
  wake(): void;
  /**
   * Called when a request has come. Its pseudo-fields come first. A section with a flaw belongs to a malformed request: answer it
   * 400; its stream is then reset. It may be answered within the call.
   *
   * @param ends true if the request has no body
   */
  request(stream: ServerStream, section: HeaderSection, ends: boolean): RequestHandler;
  /** Called when SETTINGS of the client have been read, the first ones or changes. */
  settingsRead(): void;
  /** Called when the client has sent a GOAWAY with this code. */
  goaway(code: number): void;
}

/** Takes what comes on a stream. */
export interface RequestHandler {
  /** Takes the trailers. `ended` follows. */
  section(section: HeaderSection, ends: boolean): void;
  /** Takes a piece of the body, which is the handler's from here on. Returns false if it wants no more until it resumes the stream. */
  data(bytes: Buffer): boolean;
  /** Called when the whole body has been handed on. Not for a request that ended with its head. */
  ended(): void;
  /** Called when what had to wait has been sent. */
  drained(): void;
  /** Called if the body turns out malformed and nothing was answered: answer 400. The stream is then reset. */
  malformed(why: string): void;
  /** Called last, when the stream is closed; not after its own `reset`. */
  closed(end: RequestEnd): void;
}
