import type { Fields, Release } from '../../core/index.ts';

/**
 * Takes an upstream's response: any number of `info`, then either `whole`, or `head`, `data`... and `end`. `fail` may come
 * instead of any of them and is the last call, as are `whole` and `end`.
 *
 * The fields are as the upstream sent them, hop-by-hop fields included, but without `Transfer-Encoding`.
 */
export interface ResponseSink {
  /** An interim response: 102 to 199, never 100 or 101. */
  info(status: number, fields: Fields): void;
  /** A small response that arrived in one read; every character of the body is one byte. */
  whole(status: number, reason: string, fields: Fields, body: string): void;
  /** The start of a response whose body follows; `bodyLength` is null if unknown until its end. */
  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void;
  /**
   * One piece of the body. False: the sink has enough until it calls `resume` on the call.
   *
   * With `release` the bytes are lent: they stay as they are until it is called.
   */
  data(chunk: Buffer, release: Release | null): boolean;
  end(trailers: Fields): void;
}
