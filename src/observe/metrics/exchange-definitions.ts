// The metrics of exchanges, in the library's terms.

/** Seconds: from a cached response on the same network to the longest first-byte timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Lines of one series in a scrape: its buckets with +Inf, sum and count. */
export const DURATION_LINES = DURATION_BUCKETS.length + 3;

export const REQUESTS = {
  name: 'weir_requests_total',
  help: 'Requests, by configured route ("none" if no route matched), response status, outcome and protocol.',
  labelNames: ['route', 'status', 'outcome', 'protocol'],
} as const;

export const GRPC = {
  name: 'weir_grpc_calls_total',
  help: 'gRPC calls, by configured route ("none" if no route matched) and gRPC status ("none" if the call broke off).',
  labelNames: ['route', 'code'],
} as const;

export const DURATION = {
  name: 'weir_request_duration_seconds',
  help: 'Time from the head of a request to the last byte of its response, by upstream ("none" if the gateway answered) and, with metrics.route_durations, by route.',
  labelNames: ['upstream'],
  buckets: DURATION_BUCKETS,
} as const;

/** Seconds: from a page that is left at once to a service that is connected all day. */
const WEBSOCKET_BUCKETS = [1, 10, 60, 600, 3_600, 21_600, 86_400];

export const WEBSOCKET_DURATION = {
  name: 'weir_websocket_duration_seconds',
  help: 'Lifetime of WebSockets, from the request to the end, by upstream.',
  labelNames: ['upstream'],
  buckets: WEBSOCKET_BUCKETS,
} as const;

export const UPSTREAM_DURATION = {
  name: 'weir_upstream_duration_seconds',
  help: 'Time from sending a request upstream to the head of its response.',
  labelNames: ['upstream'],
  buckets: DURATION_BUCKETS,
} as const;

export const BYTES_RECEIVED = {
  name: 'weir_request_body_bytes_total',
  help: 'Bytes of request bodies read.',
} as const;

export const BYTES_SENT = {
  name: 'weir_response_body_bytes_total',
  help: 'Bytes of response bodies written.',
} as const;

export const RETRIES = {
  name: 'weir_upstream_retries_total',
  help: 'Requests sent upstream again because the first attempt cannot have had an effect.',
  labelNames: ['upstream'],
} as const;

export const ERRORS = {
  name: 'weir_errors_total',
  help: 'Error responses made by the gateway, by the side at fault and upstream ("none" without one).',
  labelNames: ['side', 'upstream'],
} as const;

export const CAPS = {
  name: 'weir_caps_met_total',
  help: 'Requests and connections refused with 503 because a cap was reached, by its key in gateway.yaml and upstream ("none" without one).',
  labelNames: ['cap', 'upstream'],
} as const;

export const UNTRUSTED = {
  name: 'weir_untrusted_forwarding_headers_total',
  help: 'Requests whose forwarding headers were ignored because the sender is not a trusted proxy.',
} as const;
