/** A request that a server found in a connection's bytes. Strings have a character for each byte. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  /** `1.1`, or whatever else was let in. */
  readonly version: string;
  /** Names and values. */
  readonly fields: readonly string[];
  /** null: it was not read. */
  readonly body: string | null;
  /** Names and values of the trailers; ours drops them. */
  readonly trailers: readonly string[];
  /** Its last byte has come. */
  readonly complete: boolean;
  /** Another request may follow it. */
  readonly persistent: boolean;
  /** Why the server's own rules turned it away, though it was read; null: they did not. */
  readonly turnedAway: string | null;
}

/** What a server made of a connection's bytes. */
export interface RequestsReading {
  readonly requests: readonly SeenRequest[];
  /**
   * - `between`: every byte belongs to a complete request
   * - `inside`: the last request is not complete, or not even its head
   * - `refused`: the bytes were not a request, or stopped being one, or were turned away
   * - `closed`: the last request wanted no other behind it, and nothing was read there
   */
  readonly outcome: 'between' | 'inside' | 'refused' | 'closed';
  /** Why it was refused; else empty. */
  readonly why: string;
  /** What ours answered to that where it was no request; 0: nothing. */
  readonly status: number;
}
