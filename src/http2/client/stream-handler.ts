import type { HeaderSection } from '../hpack/index.ts';

/** Hears what comes on a stream. */
export interface StreamHandler {
  /** A header section: the head of an interim or final response, or trailers. `ends`: nothing follows. */
  section(section: HeaderSection, ends: boolean): void;
  /** A piece of the body, which belongs to the handler. False: it wants no more until it resumes the stream. */
  data(bytes: Buffer): boolean;
  /** The response has ended by END_STREAM. The last call. */
  ended(): void;
  /** What had to wait has been sent. */
  drained(): void;
  /** The stream is closed before the response has ended. The last call. */
  closed(end: StreamEnd): void;
}

/** How a stream ended early. */
export type StreamEnd =
  /** The server sent RST_STREAM. */
  | { readonly how: 'reset'; readonly code: number }
  /** The server broke a rule, and was sent RST_STREAM. */
  | { readonly how: 'malformed'; readonly why: string }
  /** The server said by GOAWAY, with this code, that it has not looked at the stream and will not (RFC 9113, 6.8). */
  | { readonly how: 'unprocessed'; readonly code: number }
  /** The connection is lost. */
  | { readonly how: 'lost' };
