/** What a reader makes of the response on a stream. */
export interface Http2Reading {
  /** Ended by END_STREAM, and nothing was wrong with it. */
  readonly whole: boolean;
  /** The status of a response; '' of a request, whose pseudo-fields are among its fields. */
  readonly status: string;
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}
