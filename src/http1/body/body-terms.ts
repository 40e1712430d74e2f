/** Limits on how a request's body is sent. */
export interface BodyTerms {
  /** Largest body on the wire, chunk framing included; null: any. */
  readonly maxBytes: number | null;
  /** Bytes of the body a second, averaged over the time in which it was read, once that is 30 s; null: any rate. */
  readonly minBytesPerS: number | null;
  /** Longest time that reading it may take; null: any. */
  readonly deadlineMs: number | null;
}

export const NO_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: null };
