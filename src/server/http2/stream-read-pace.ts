import type { ServerStream } from '../../http2/index.ts';
import { ReadPace, type ReadTerms } from '../read-pace.ts';

/** A stream as `StreamReadPace` sees it. */
export type ReadStream = Pick<ServerStream, 'unsent' | 'sendWindow' | 'sentBytes'>;

/**
 * Measures how fast a client takes a stream that waits for its own window. Where it waits for the connection's window or the socket, the
 * connection is measured as a whole.
 */
export class StreamReadPace {
  readonly #pace = new ReadPace();

  /** Whether the client is too slow. Ask at each sweep, and only then. */
  isTooSlow(nowMs: number, { unsent, sendWindow, sentBytes }: ReadStream, terms: ReadTerms): boolean {
    if (unsent > 0 && sendWindow <= 0) return this.#pace.isTooSlow(nowMs, sentBytes, terms);
    if (unsent === 0) this.#pace.rest();
    return false;
  }
}
