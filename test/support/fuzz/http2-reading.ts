/** What a reader makes of the response on a stream. */
export interface Http2Reading {
  /** Ended by END_STREAM, and nothing was wrong with it. */
  readonly whole: boolean;
  readonly status: string;
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}
