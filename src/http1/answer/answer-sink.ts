import type { Fields, Release } from '../../core/index.ts';

/**
 * Takes an upstream's answer: any number of `info`, then either `whole`, or `head`, `data`... and `end`. `fail` may come
 * instead of any of them and is the last call, as are `whole` and `end`.
 *
 * The fields hold what the upstream sent in its letter case, without `Transfer-Encoding`; hop-by-hop fields are still
 * among them.
 */
export interface AnswerSink {
  /** An interim answer: 102 to 199, never 100 or 101. */
  info(status: number, fields: Fields): void;
  /** A small answer that came in one piece; every character of the body is one byte. */
  whole(status: number, reason: string, fields: Fields, body: string): void;
  /** The start of an answer whose body follows: that many bytes, or null where only its end will tell. */
  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void;
  /**
   * One piece of the body. False: the sink has enough until it calls `resume` on the call.
   *
   * Where `taken` is given, the bytes are lent: they stay as they are until it is called, and may change then.
   */
  data(chunk: Buffer, taken: Release | null): boolean;
  end(trailers: Fields): void;
}
