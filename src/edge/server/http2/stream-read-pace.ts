import type { ServerStream } from '../../../wire/http2/index.ts';
import { ReadPace, type ReadTerms } from '../read-pace.ts';

export type ReadStream = Pick<ServerStream, 'unsent' | 'sendWindow' | 'sentBytes'>;

/**
 * Measures how fast a client reads a stream that waits for its own window. Where it waits for the connection's window or the
 * socket, the connection is measured instead.
 */
export class StreamReadPace {
  readonly #pace = new ReadPace();

  /** Whether the client is too slow. Call it at every sweep, and only then. */
  isTooSlow(nowMs: number, { unsent, sendWindow, sentBytes }: ReadStream, terms: ReadTerms): boolean {
    if (unsent > 0 && sendWindow <= 0) return this.#pace.isTooSlow(nowMs, sentBytes, terms);
    if (unsent === 0) this.#pace.rest();
    return false;
  }
}
