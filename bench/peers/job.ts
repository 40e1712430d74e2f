/** What a gateway does with each request before forwarding it. Every peer renders its own configuration from it. */
export interface Job {
  /**
   * What clients speak: HTTP/1.1, HTTP/2 in cleartext, HTTP/1.1 over TLS; gRPC in cleartext or WebSocket, to an upstream that
   * speaks that.
   */
  readonly clients: 'http1' | 'h2c' | 'tls' | 'grpc' | 'websocket';
  /** Checks the signature and the claims of the Bearer token, and remembers the ones found good. */
  readonly token: boolean;
  /**
   * `none`: no limits. `wide`: two, of the address and of the caller, that are never reached. `spent`: two that the first
   * requests use up, so that all others are answered 429.
   */
  readonly limits: 'none' | 'wide' | 'spent';
  /** Number of routes to the one upstream; see `routePath`. */
  readonly routes: number;
  /** What only Weir is asked to do. */
  readonly weir: {
    readonly accessLog: boolean;
    /** The URL of a Redis that counts; null: the gateway's own memory. */
    readonly redis: string | null;
    /** Restricts addresses after this many refusals; null: never. */
    readonly restrictAfter: number | null;
    /** Refuses requests when it is too far behind. */
    readonly sheds: boolean;
    /** Takes part in traces, of which it records a tenth; exports their spans. */
    readonly tracing: 'off' | 'on' | 'exported';
    /** Gives each route a host of its own; the one in the middle has that of the clients. */
    readonly hosts: boolean;
    /** Bounds how many requests of a caller are in flight, by a number that is never reached. */
    readonly concurrent: boolean;
    /** Counts the requests of each address by the last part of the path alone, and by nothing else. */
    readonly byMainValue: boolean;
    /** How long it plays requests to itself before it is ready; null: not. */
    readonly warmUp: string | null;
  };
  /** The counted address is the one that X-Forwarded-For tells, and windows are long: many keys stay alive. */
  readonly forwardedAddresses: boolean;
  /** How many threads or processes serve clients; peers that have only one leave it out. */
  readonly threads: number;
  /** Ports of several endpoints, in place of the one upstream: requests go to those with few in flight. */
  readonly endpointPorts: readonly number[] | null;
}

/** Only forwards requests. */
export const FORWARDING: Job = {
  clients: 'http1',
  token: false,
  limits: 'none',
  routes: 1,
  weir: {
    ...{ accessLog: false, redis: null, restrictAfter: null, sheds: true },
    ...{ tracing: 'off', hosts: false, concurrent: false, byMainValue: false },
    warmUp: null,
  },
  forwardedAddresses: false,
  threads: 1,
  endpointPorts: null,
};

/** A known token, two limits, metrics, no access log: the work that the aims speak of. */
export const PIPELINE: Job = { ...FORWARDING, token: true, limits: 'wide' };

/** The path of a job's n-th route. The only route of a job with one matches all paths. */
export function routePath(n: number): string {
  return `/v1/service-${n}/things`;
}

/** The host of a job's n-th route. The clients of the bench name their gateway by its address. */
export function routeHost(n: number, { routes }: Job): string {
  return n === routes / 2 ? '127.0.0.1' : `service-${n}.test`;
}

/** The paths that routes begin with, in order. */
export function routePrefixes({ routes }: Job): readonly string[] {
  return routes === 1 ? ['/'] : Array.from({ length: routes }, (_, n) => `${routePath(n)}/`);
}
