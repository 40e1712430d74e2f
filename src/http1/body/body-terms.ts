/** What the sender of a request's body has to keep to. */
export interface BodyTerms {
  /** Largest body on the wire, what frames its chunks included; null: any. */
  readonly maxBytes: number | null;
  /** Bytes of the body a second, on average over the time in which it was read, once that is 30 s; null: any rate. */
  readonly minBytesPerS: number | null;
  /** Longest time in which it is read; null: as long as it takes. */
  readonly deadlineMs: number | null;
}

export const NO_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: null };
