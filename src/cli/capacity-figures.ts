/** What requests, connections and counters cost, as measured by `npm run capacity`. */
export interface CapacityFigures {
  /** Processor time per request, in microseconds: `plain` for the simplest one, and what each feature adds. */
  readonly requestMicroseconds: {
    readonly plain: number;
    readonly tokenAndLimits: number;
    readonly log: number;
    readonly tls: number;
    readonly http2: number;
    readonly grpc: number;
    readonly redis: number;
    /** Of Redis itself. */
    readonly ofRedis: number;
  };
  /** Memory of what is idle, in bytes. A WebSocket's includes its connection to the service. */
  readonly connectionBytes: { readonly plain: number; readonly tls: number; readonly webSocket: number };
  /** Memory of Redis for one caller under one limit, in bytes. */
  readonly redisCounterBytes: number;
  /** The same for one caller with one main value of a bucket that has `main`: the counter, and the list of the caller's main values. */
  readonly redisMainBytes: number;
}

// Written by `npm run capacity`.
export const FIGURES: CapacityFigures = {
  requestMicroseconds: {
    plain: 28,
    tokenAndLimits: 8,
    log: 5,
    tls: 13,
    http2: -15,
    grpc: -18,
    redis: 14,
    ofRedis: 20,
  },
  connectionBytes: {
    plain: 25772,
    tls: 46387,
    webSocket: 34028,
  },
  redisCounterBytes: 213,
  redisMainBytes: 1343,
};
