/** The part of an exchange between the gateway and its upstream. */
export interface UpstreamLeg {
  readonly upstream: string;
  readonly sentAtMs: number;
  /** Null: the head of the upstream's response has not come. */
  readonly answeredAtMs: number | null;
  /** The request was sent a second time. */
  readonly repeated: boolean;
  /** The client has room again. */
  drained(): void;
  /** Stops all work for the client. May be called again. */
  abandoned(): void;
}
