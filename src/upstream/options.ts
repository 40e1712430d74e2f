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

/** TLS to an upstream. Texts are PEM. */
export interface UpstreamTls {
  /** The name that is asked for and that the certificate has to hold; null: the host. */
  readonly serverName: string | null;
  /** Whom to trust; null: the usual authorities. */
  readonly ca: string | null;
  /** The gateway's own, with its key; null if absent. */
  readonly certificate: string | null;
  readonly key: string | null;
  /** False: any certificate will do. */
  readonly verify: boolean;
}

/** How to reach an upstream. Times in milliseconds. */
export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** Null: cleartext. */
  readonly tls: UpstreamTls | null;
  readonly protocol: UpstreamProtocol;
  readonly http2: Http2Options;
  /** Longest time to connect, name resolution and TLS included. */
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
