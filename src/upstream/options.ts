/** How to reach an upstream. Times in milliseconds. */
export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** Longest time to connect, name resolution included. */
  readonly connectTimeoutMs: number;
  /** An idle connection is closed after this, or 1 s before the upstream's own `Keep-Alive: timeout`. */
  readonly keepAliveMs: number;
  /** At this age, less a random part of up to a fifth, a connection takes no further request. */
  readonly maxAgeMs: number;
  /** As many as requests may be in flight. A resting connection is closed where a new one would exceed this. */
  readonly maxConnections: number;
  /** Largest header section of a response, in bytes. */
  readonly maxHeadBytes: number;
}
