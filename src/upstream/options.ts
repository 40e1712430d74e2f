/** What an upstream speaks. gRPC is carried by HTTP/2. */
export type UpstreamProtocol = 'http1' | 'h2' | 'grpc';

/** How an upstream over HTTP/2 is reached. */
export interface Http2Options {
  /** Connections that take requests at once. */
  readonly maxConnections: number;
  /** Streams on a connection before another is opened beside it. */
  readonly maxStreams: number;
  /** An upstream with requests in flight that sends nothing for this long is sent a PING. */
  readonly pingIntervalMs: number;
  /** Without a byte for this long after a PING, the connection is lost. */
  readonly pingTimeoutMs: number;
}

/** How to reach an upstream. Times in milliseconds. */
export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  readonly protocol: UpstreamProtocol;
  readonly http2: Http2Options;
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
