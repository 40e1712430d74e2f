/** What requests, connections and counters take, as `npm run capacity` measured it. */
export interface CapacityFigures {
  /** Processor time of a request, in microseconds: of the simplest, and what each thing adds to that. */
  readonly requestMicroseconds: {
    readonly plain: number;
    readonly tokenAndLimits: number;
    readonly log: number;
    readonly tls: number;
    readonly http2: number;
    readonly grpc: number;
    readonly redis: number;
    /** What Redis itself takes. */
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
