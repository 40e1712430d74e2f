import type { PathNaming } from '../../observe/index.ts';

export interface TimeoutsModel {
  /** From a connection's start to the end of its TLS handshake. */
  readonly tlsHandshakeMs: number;
  /** From a request's first byte (or a connection's start) to the end of its header section. */
  readonly clientHeaderMs: number;
  /** Between two bytes of a request's body. */
  readonly clientBodyIdleMs: number;
  /** The time for a client to read what was written to it. */
  readonly clientReadMs: number;
  /** An idle client connection is kept at least this long. */
  readonly keepAliveMs: number;
  /** Age of a connection at which its client is asked to reconnect; `null` if never. */
  readonly maxConnectionAgeMs: number | null;
}

/** Beyond any of these a request gets a 503 with `Retry-After`. */
export interface CapsModel {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** TLS handshakes under way. */
  readonly tlsHandshakes: number;
  readonly requests: number;
  readonly requestsPerAddress: number;
  /** Mean delay of the event loop; `null` if any will do. */
  readonly eventLoopDelayMs: number | null;
  /** Header section of a request, in bytes (431 beyond). */
  readonly headBytes: number;
  /** Header fields of a request (431 beyond). */
  readonly fields: number;
  /** Limit counters in memory; beyond it one is evicted. */
  readonly limitKeys: number;
}

/** What a connection over HTTP/2 may take. */
export interface Http2Model {
  /** Streams of one connection that a client may have open at a time. */
  readonly maxStreams: number;
  /** What a client may send of one body before that is read. */
  readonly streamWindowBytes: number;
  /** What a client may send of all bodies of a connection until the gateway acknowledges it. */
  readonly connectionWindowBytes: number;
  /** Memory of one connection beyond which no further stream is accepted. */
  readonly sessionMemoryBytes: number;
}

export interface ShutdownModel {
  /** Between SIGTERM and closing the listeners: readiness fails, requests are still served. */
  readonly delayMs: number;
  /** The time for requests in flight to finish. */
  readonly drainMs: number;
}

export interface LogModel {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** Whether each request writes a line. */
  readonly access: boolean;
  /** Key of the pseudonyms of callers and main values; `null` if this process makes a random one. */
  readonly pseudonymKey: Buffer | null;
  /** Whether access lines have the client's `User-Agent`. */
  readonly userAgent: boolean;
  /** How paths are named in the log: by the words that the configuration has in paths. */
  readonly paths: PathNaming;
}
