import * as core from '../../core/index.ts';
import * as labels from './label-model.ts';

/** Declares one metric: its name and text for Prometheus and the docs, and the series that exist from startup. */
export interface MetricDeclaration {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The labels, in order, each with a closed list of values, or a description of their source. Default none. */
  readonly labels?: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram's buckets, ascending. */
  readonly buckets?: readonly number[];
  /**
   * The series of a configuration, as rows of label values. Default: each combination of the closed lists, if all labels have
   * one.
   */
  readonly series?: (model: labels.LabelModel) => labels.Rows;
  /** The label for something configured: a reload drops the series whose value is in no row. Default: none is dropped. */
  readonly configured?: string | ((model: labels.LabelModel) => string);
  /**
   * How the values of all threads are merged for a gauge that each thread has. Default: only the main thread has the value.
   * Counters and histograms are always added up.
   */
  readonly across?: 'sum' | 'max';
  /** Text for the docs only, as Markdown. Default none. */
  readonly more?: string;
}

/** In seconds: from a cached response on the same network to the longest first-byte timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** In seconds: a nearby provider answers within milliseconds; a failing one is given up after several seconds. */
const PROVIDER_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const ROUTE = 'as configured; `none`: no route matched';
const UPSTREAM = 'as configured';
const UPSTREAM_OR_NONE = 'as configured; `none`: for no upstream';
const BUCKET = 'as configured; `none`: without a bucket';
const CLASS = '`bot`, `user`, `address`, or a class of `access_tokens.classes`';
const PROVIDER = 'with [several providers](tokens.md#several-providers)';
const PERIOD =
  'of the window, such as `day`, where a limit has [several](plans.md); without a value where it has one';
const WORKER = 'its number, from 1';
const PARTITION = { bucket: '`none`: the global limit', limit: '`global`, `caller` or `resource`' };

const byUpstream = ({ upstreams }: labels.LabelModel): labels.Rows => upstreams.map(upstream => [upstream]);
const exceptFor = <Word extends string>(words: readonly Word[], ...others: Word[]): Word[][] =>
  words.filter(word => !others.includes(word)).map(word => [word]);

/** Without DPoP no proof is refused. */
const withoutProofs = (dpop: boolean): core.RedeemOutcome[] => (dpop ? [] : ['proof_refused']);

type Labels = NonNullable<MetricDeclaration['labels']>;
type Options = Omit<MetricDeclaration, 'type' | 'help' | 'labels'>;
const declare =
  <Type extends MetricDeclaration['type']>(type: Type) =>
  (help: string, labels: Labels = {}, options: Options = {}) => ({ type, help, labels, ...options });
const counter = declare('counter');
const gauge = declare('gauge');
const histogram = declare('histogram');
/** Declares a histogram of the time that the provider takes. */
const ofProvider = (help: string) => histogram(help, {}, { buckets: PROVIDER_BUCKETS });
const PER_UPSTREAM: Options = { series: byUpstream, configured: 'upstream' };

/** Every metric of the gateway. Registration, initial series and the table in the docs derive from this list. */
export const METRICS = {
  weir_requests_total: counter(
    'Requests, by route, response status, outcome and protocol.',
    { route: ROUTE, status: '`none`: no response', outcome: core.OUTCOMES, protocol: core.PROTOCOLS },
    { series: labels.requestRows, configured: 'route' },
  ),
  weir_grpc_calls_total: counter(
    'gRPC calls, by route and gRPC status ("none" if the call broke off).',
    { route: ROUTE, code: 'such as `OK` or `RESOURCE_EXHAUSTED`' },
    { series: labels.callRows, configured: 'route' },
  ),
  weir_request_duration_seconds: histogram(
    'Time from the head of a request to the last byte of its response, by upstream ("none" if the gateway answered) and, with metrics.route_durations, by route.',
    { upstream: UPSTREAM_OR_NONE },
    {
      buckets: DURATION_BUCKETS,
      series: labels.durationRows,
      configured: ({ routeDurations }) => (routeDurations ? 'route' : 'upstream'),
      more: 'With `metrics.route_durations: true` also `route`, which costs up to 36 lines per route.',
    },
  ),
  weir_websocket_duration_seconds: histogram(
    'Lifetime of WebSockets, from the request to the end, by upstream.',
    { upstream: UPSTREAM },
    {
      // In seconds: from a page that is closed at once to a service that is connected all day.
      buckets: [1, 10, 60, 600, 3_600, 21_600, 86_400],
    },
  ),
  weir_upstream_duration_seconds: histogram(
    'Time from sending a request upstream to the head of its response.',
    { upstream: UPSTREAM },
    { buckets: DURATION_BUCKETS, series: byUpstream, configured: 'upstream' },
  ),
  weir_upstream_responses_total: counter(
    'Responses of each upstream, by the class of their status ("none" if none came and the upstream is to blame).',
    { upstream: UPSTREAM, class: labels.RESPONSE_CLASSES },
    {
      series: labels.responseRows,
      configured: 'upstream',
      more: 'A request that was sent again counts once, a WebSocket (`1xx`) at its end, a gRPC call by the HTTP status that its own stands for. Requests that clients abandoned before a response came are not counted.',
    },
  ),
  weir_request_body_bytes_total: counter('Bytes of request bodies read.'),
  weir_response_body_bytes_total: counter('Bytes of response bodies written.'),
  weir_upstream_retries_total: counter(
    'Requests sent upstream again because the first attempt cannot have had an effect.',
    { upstream: UPSTREAM },
    PER_UPSTREAM,
  ),
  weir_upstream_retries_refused_total: counter(
    'Requests that were not sent to another endpoint because too many are: the budget is 20 % of the requests of the last 10 s.',
    { upstream: UPSTREAM },
    PER_UPSTREAM,
  ),
  weir_upstream_endpoints: gauge(
    'Endpoints of each upstream, by state: used, or why they get no requests.',
    { upstream: UPSTREAM, state: ['used', ...core.OUT_REASONS] },
    {
      more: 'The status page names each endpoint. `connect_failures` and `bad_answers`: ejected for a while; `check`: its health checks fail.',
    },
  ),
  weir_upstream_all_endpoints_out: gauge(
    '1 while every endpoint of the upstream is out, so that all of them are used. Alert on 1.',
    { upstream: UPSTREAM },
  ),
  weir_upstream_endpoints_out_total: counter(
    'How often an endpoint of the upstream was taken out, by reason.',
    { upstream: UPSTREAM, reason: core.OUT_REASONS },
    { series: labels.endpointRows, configured: 'upstream' },
  ),
  weir_upstream_lookup_failed: gauge(
    '1 while a name of the upstream cannot be looked up, so that its last addresses stay in use. Alert on 1.',
    { upstream: UPSTREAM },
  ),
  weir_errors_total: counter(
    'Error responses made by the gateway, by the side at fault and upstream.',
    { side: core.ERROR_SIDES, upstream: UPSTREAM_OR_NONE },
    { series: labels.errorRows, configured: 'upstream' },
  ),
  weir_caps_met_total: counter(
    'Requests and connections refused with 503 because a cap was reached, by the cap and upstream.',
    { cap: 'its key in gateway.yaml', upstream: UPSTREAM_OR_NONE },
    { series: labels.capRows, configured: 'upstream' },
  ),
  weir_untrusted_forwarding_headers_total: counter(
    'Requests whose forwarding headers were ignored because the sender is not a trusted proxy.',
  ),
  weir_requests_in_flight: gauge('Requests in flight.', {}, { across: 'sum' }),
  weir_websockets_open: gauge(
    'Open WebSockets, by upstream. They do not count as requests in flight.',
    { upstream: UPSTREAM },
    { across: 'sum' },
  ),
  weir_client_connections: gauge('Open client connections.'),
  weir_upstream_connections: gauge('Open connections to each upstream.', { upstream: UPSTREAM }),
  weir_build_info: gauge(
    'Always 1; the labels name the version of Weir and of Node.js, and the number of workers if there are several.',
    {
      version: 'of Weir',
      node: 'of Node.js',
      workers: 'how many serve; left out with one',
    },
  ),
  weir_worker_up: gauge('1 while a worker serves and reports, 0 while it is silent or being replaced.', {
    worker: WORKER,
  }),
  weir_worker_replacements_total: counter(
    'How often a worker ended unexpectedly and was replaced. Alert on this.',
    { worker: WORKER },
  ),
  weir_worker_requests_total: counter(
    'Requests that each worker has answered. The replacement of a worker continues the count.',
    {
      worker: WORKER,
    },
  ),
  weir_worker_client_connections: gauge('Open client connections of each worker.', { worker: WORKER }),
  weir_worker_event_loop_delay_seconds: gauge(
    'How late the event loop of each worker is, averaged over a second.',
    { worker: WORKER },
  ),
  weir_proxy_header_faults_total: counter('Connections closed because of their PROXY header, by reason.', {
    reason: core.PROXY_HEADER_FAULTS,
  }),
  weir_tls_handshakes_total: counter(
    'TLS handshakes with clients, by listener and outcome: full, resumed, or why they failed.',
    { listener: 'its key under `listen`', outcome: core.HANDSHAKE_OUTCOMES },
    {
      series: ({ tlsListeners }) =>
        tlsListeners.flatMap(listener => core.HANDSHAKE_OUTCOMES.map(outcome => [listener, outcome])),
      configured: 'listener',
    },
  ),
  weir_tls_certificate_expiry_timestamp_seconds: gauge(
    'When each certificate in use expires, by listener and file. Alert two weeks ahead.',
    { listener: 'its key under `listen`', certificate: 'its file, as configured' },
  ),
  weir_http2_faults_total: counter(
    'HTTP/2 connections closed because of what the client sent, by reason.',
    { reason: core.HTTP2_FAULTS },
    { more: 'See [HTTP/2](http2.md#floods).' },
  ),
  weir_readers_ended_total: counter(
    'Connections and HTTP/2 streams ended because their clients did not read, by reason.',
    { reason: core.READER_ENDS },
    { more: 'See [Memory](memory.md).' },
  ),
  weir_buffered_bytes: gauge(
    'Bytes held for clients: unread responses, and what is kept of requests. At most `caps.buffered`.',
  ),
  weir_overloaded: gauge(
    '1 while the event loop is too late and new requests may be answered 503, else 0.',
    {},
    { across: 'max' },
  ),
  weir_overloads_total: counter(
    'Times that the event loop was too late, and new requests were answered 503 for a while.',
  ),
  weir_admin_refused_total: counter(
    'Requests that the admin API refused, by reason.',
    { reason: core.ADMIN_REFUSALS },
    { more: 'See [the admin API](admin-api.md).' },
  ),
  weir_admin_changes_total: counter('Changes through the admin API, by kind.', {
    change: core.ADMIN_CHANGES,
  }),
  weir_admin_faults_total: counter(
    'Requests that the admin listener failed to answer through a fault of its own, by what they were for.',
    { endpoint: core.ADMIN_ENDPOINTS },
  ),
  weir_spans_lost_total: counter(
    'Spans that were not exported.',
    { reason: ['queue', 'receiver'] },
    {
      more: '`queue`: more than `tracing.export.queue` waited; `receiver`: it did not take them',
    },
  ),
  weir_log_lines_dropped_total: counter(
    'Log lines that were dropped because standard output did not take them.',
  ),
  weir_log_blocked: gauge('1 while standard output takes no log lines, such as on a full disk, else 0.'),
  weir_tokens_total: counter(
    'Bearer tokens seen, by outcome: known (verified before), verified, refused, undecided (key not available), put_off (the address has used up its budget of failed verifications).',
    { provider: PROVIDER, outcome: labels.TOKEN_OUTCOMES },
    { series: labels.tokenRows },
  ),
  weir_tokens_refused_total: counter(
    'Refused tokens by reason.',
    { provider: PROVIDER, reason: core.INVALID_REASONS },
    { series: labels.refusalRows },
  ),
  weir_proofs_total: counter('Valid proofs that the sender has the key of its token (DPoP).'),
  weir_signature_checks_total: counter(
    'Signatures checked, by algorithm and result.',
    { provider: PROVIDER, algorithm: core.SIGNATURE_ALGORITHMS, good: ['true', 'false'] },
    { series: labels.checkRows },
  ),
  weir_key_set_keys: gauge(
    'Keys of the issuer that can verify tokens; 0 until the first key set is loaded.',
    { provider: PROVIDER },
    { more: 'Only with `identity_provider`.' },
  ),
  weir_key_set_fetches_total: counter(
    "Fetches of the issuer's key set, by outcome.",
    { provider: PROVIDER, outcome: ['loaded', 'failed'] },
    { series: model => labels.perProvider(model, ['loaded', 'failed']) },
  ),
  weir_revocations: gauge(
    'Revocations that this gateway remembers: sessions that ended, and subjects whose older tokens are refused.',
    { kind: '`session` or `subject`' },
  ),
  weir_state_write_failures_total: counter(
    'Failed attempts to write a file of `state`. Until one succeeds, a restart forgets what has happened since.',
    { file: '`state`, and with `state.counters` also `counters`' },
  ),
  weir_state_written_timestamp_seconds: gauge(
    'When a file of `state` was last written. It is written when its content has changed.',
    { file: 'as above' },
  ),
  weir_revocations_evicted_total: counter(
    'Revocations evicted because the table was full: every token as old as they were is refused.',
  ),
  weir_notices_total: counter(
    'Not-before pushes and back-channel logouts received, by outcome.',
    { notice: core.NOTICE_KINDS, outcome: core.NOTICE_OUTCOMES },
    {
      series: ({ notices }) =>
        notices.flatMap(notice => core.NOTICE_OUTCOMES.map(outcome => [notice, outcome])),
      more: 'See [what the provider tells](tokens.md#what-the-provider-tells).',
    },
  ),
  weir_sign_ins_total: counter(
    'Sign-in attempts, by outcome.',
    { outcome: core.REDEEM_OUTCOMES },
    {
      series: ({ providers, dpop }) =>
        providers === null ? [] : exceptFor(core.REDEEM_OUTCOMES, 'token_refused', ...withoutProofs(dpop)),
    },
  ),
  weir_sign_in_tokens_refused_total: counter(
    'Access tokens that clients got for a code or a refresh token, and that this gateway refuses, by reason.',
    { reason: core.INVALID_REASONS },
    {
      series: model => (model.providers === null ? [] : labels.reasonsOf(model).map(reason => [reason])),
      more: 'More than 0 means that clients sign in again and again: see [other providers](providers.md#tokens-that-the-gateway-refuses).',
    },
  ),
  weir_sign_in_duration_seconds: ofProvider('Time from the complete sign-in request to its response.'),
  weir_refreshes_total: counter(
    'Attempts to exchange a refresh token for new tokens, by outcome.',
    { outcome: core.REDEEM_OUTCOMES },
    {
      series: ({ providers, refreshes, dpop }) =>
        providers === null || !refreshes
          ? []
          : exceptFor(core.REDEEM_OUTCOMES, 'code_refused', ...withoutProofs(dpop)),
      more: 'Only with `sign_in.refresh`.',
    },
  ),
  weir_refresh_duration_seconds: ofProvider(
    'Time from the complete request with a refresh token to its response.',
  ),
  weir_sign_outs_total: counter(
    "Sign-outs, by the outcome of the provider's part.",
    { outcome: core.REDEEM_OUTCOMES },
    {
      series: ({ providers, signsOut }) =>
        providers === null || !signsOut
          ? []
          : exceptFor(core.REDEEM_OUTCOMES, 'code_refused', 'proof_refused'),
      more: 'Only with `sign_in.sign_out`.',
    },
  ),
  weir_provider_discoveries_total: counter(
    "Attempts to discover the provider's endpoints, by outcome.",
    { provider: PROVIDER, outcome: core.DISCOVERY_OUTCOMES },
    { series: model => labels.perProvider(model, core.DISCOVERY_OUTCOMES) },
  ),
  weir_introspections_total: counter(
    'Introspection requests to the provider, by outcome. Remembered answers do not count.',
    { provider: PROVIDER, outcome: core.INTROSPECTION_OUTCOMES },
    {
      series: model => (model.introspects ? labels.perProvider(model, core.INTROSPECTION_OUTCOMES) : []),
      more: 'Only with routes that have [`introspection`](tokens.md#asking-the-provider), or [opaque tokens](opaque-tokens.md).',
    },
  ),
  weir_introspection_duration_seconds: ofProvider('Duration of introspection requests to the provider.'),
  weir_limit_decisions_total: counter(
    'Limit decisions, by bucket, caller class and outcome (admitted, or the limit that refused), and by the period of the window that refused.',
    { bucket: BUCKET, class: CLASS, outcome: '`admitted`, or the limit that refused', period: PERIOD },
    { series: labels.decisionRows, configured: 'bucket' },
  ),
  weir_restriction_refusals_total: counter(
    'Requests that a restriction or "blocked" refused before their limits were checked, by caller class and reason.',
    { class: CLASS, reason: [...core.RESTRICTION_REASONS, 'blocked'] },
    { series: labels.restrictionRefusalRows, configured: 'class' },
  ),
  weir_limit_near_total: counter(
    'Requests admitted with at least 80 % of their limit used, by the period of that window.',
    { bucket: BUCKET, class: CLASS, period: PERIOD },
    { series: labels.nearRows, configured: 'bucket' },
  ),
  weir_shadow_refused_total: counter(
    'Requests served that a limit in shadow would have refused, by bucket, caller class and limit.',
    {
      bucket: BUCKET,
      class: CLASS,
      limit: '`global`, `caller`, `group`, `resource` or `concurrent`',
    },
    { series: labels.shadowRows, configured: 'bucket' },
  ),
  weir_limit_prices_total: counter(
    'Requests whose response should tell what they cost, by bucket and outcome; unknown: the client left or the stream broke before.',
    { bucket: BUCKET, outcome: core.PRICE_OUTCOMES },
    {
      series: labels.priceRows,
      configured: 'bucket',
      more: 'See [prices](prices.md).',
    },
  ),
  weir_limit_held_total: counter(
    'Requests that "patience" held or could have held, by outcome; no_room: decided at once because too many were held.',
    { outcome: core.HELD_OUTCOMES },
    { more: 'See [patience](limits.md#patience).' },
  ),
  weir_invalid_requests_total: counter('Requests that count as invalid against their address, by status.', {
    status: ['401', '403', '429'],
  }),
  weir_restrictions_total: counter(
    'Restrictions started, by kind and reason.',
    { kind: core.RESTRICTED_KINDS, reason: core.RESTRICTION_REASONS },
    { series: () => labels.certainRestrictions(core.RESTRICTION_REASONS) },
  ),
  weir_restricted: gauge('Restrictions in force now.', { kind: core.RESTRICTED_KINDS }),
  weir_restrictions_evicted_total: counter(
    'Restrictions that ended early because their table was full. Alert on this.',
    { table: core.RESTRICTION_TABLES },
  ),
  weir_limit_in_flight: gauge(
    'Requests in flight in each bucket with "concurrent", streams and WebSockets included.',
    { bucket: 'as configured' },
  ),
  weir_limit_keys: gauge('Counters held in memory.'),
  weir_limit_caller_overflows_total: counter(
    'Requests decided by the one counter for the keys of a caller beyond its maximum, or for the addresses of a network beyond its share.',
  ),
  weir_limit_keys_evicted_total: counter(
    'Counters evicted before their reset because their table was full, by bucket and limit. Alert on this.',
    PARTITION,
  ),
  weir_limit_shared_overflows_total: counter(
    'Decisions by the shared counters for new clients, used while the table is full of exhausted counters, by bucket and limit. Alert on this.',
    PARTITION,
  ),
  weir_store_decisions_total: counter(
    'Limit decisions, by what decided: redis, known_refusal (a remembered refusal of Redis), or the failure policy (local, open, closed).',
    { by: core.DECIDED_BY },
  ),
  weir_store_failures_total: counter('Redis commands that failed, by reason.', {
    reason: core.STORE_FAILURES,
  }),
  weir_store_up: gauge('1 while Redis counts the limits, 0 while the on_failure policy applies. Alert on 0.'),
  weir_store_lost_total: counter('How often the on_failure policy took over from Redis.'),
  weir_store_behind: gauge(
    '1 while this gateway serves without having read from Redis, since its start, what other gateways have revoked and restricted. Alert on 1.',
  ),
  weir_store_facts_skipped_total: counter(
    'Revocations, restrictions and lifts of other gateways that this one could not apply, through a fault of its own.',
    {},
    { more: 'The log names the fault.' },
  ),
  weir_store_subscribed: gauge(
    '1 while Redis sends this gateway the messages of others, 0 while it refuses to, and the gateway polls once a second.',
    {},
    { more: 'At 0, Redis does not permit `subscribe`.' },
  ),
  weir_store_clock_ahead_seconds: gauge(
    "How far the clock of Redis is ahead of this gateway's. Limits follow the clock of Redis; beyond 0.5, one of the two is wrong.",
  ),
  weir_store_replicas: gauge('Gateways that share the limits, as counted in Redis.'),
  weir_store_round_trip_seconds: histogram(
    'Round-trip time to Redis, measured about once a second.',
    {},
    {
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05],
    },
  ),
  weir_store_untold: gauge('Restrictions and revocations of this gateway not yet written to Redis.'),
  weir_restrictions_adopted: gauge(
    'Restrictions started by other gateways whose clients have not been seen here yet.',
  ),
  weir_store_unshared_offences_total: counter(
    'Offences counted by this gateway alone because too many clients offended at once.',
  ),
  weir_config_reloads_total: counter(
    'Reloads of the configuration files, by outcome: applied, waiting (for the keys of a new identity provider), refused (the files have errors), unchanged.',
    { outcome: ['applied', 'waiting', 'refused', 'unchanged'] },
  ),
  weir_config_last_reload_successful: gauge(
    '1 if the configuration files were valid at the last reload; 0 if they were refused and the previous configuration stays in use. Alert on 0.',
  ),
  weir_config_last_reload_timestamp_seconds: gauge(
    'Time of the last reload, successful or not; the start time until the first one.',
  ),
  weir_config_reload_longest_turn_seconds: gauge(
    'The longest time for which the last reload kept a thread that serves from all other work; 0 until the first one. With several workers, the longest of all.',
    {},
    { across: 'max' },
  ),
  weir_config_applied_timestamp_seconds: gauge(
    'Time when the configuration in use came into force. Among several gateways, the hash with the greatest time is the newest configuration.',
  ),
  weir_config_info: gauge(
    'Always 1; the labels name the configuration in use: its hash (equal files, equal hash) and its number in this process.',
    { hash: 'of the files', generation: 'a number' },
  ),
  weir_config_restart_keys: gauge('Configuration keys whose change takes effect only after a restart.'),
  weir_config_watched: gauge(
    '1 while file events report changes; 0 while the files are polled every few seconds.',
  ),
} satisfies Readonly<Record<string, MetricDeclaration>>;

export type MetricName = keyof typeof METRICS;
/** The metrics of one type. */
export type MetricOf<Type extends MetricDeclaration['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];
