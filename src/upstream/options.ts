/** How an upstream is reached. Times in milliseconds. */
export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** For a connection to be made, name resolution included. */
  readonly connectTimeoutMs: number;
  /** An idle connection is closed after this, or 1 s before the upstream's own `Keep-Alive: timeout`. */
  readonly keepAliveMs: number;
  /** A connection takes no further request at this age (less up to a fifth, by chance, so that not all go at once). */
  readonly maxAgeMs: number;
  /** A resting connection is closed where a new one would be more than this: as many as requests may be in flight. */
  readonly maxConnections: number;
  /** Largest header section of an answer, in bytes. */
  readonly maxHeadBytes: number;
}
