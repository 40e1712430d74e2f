import { STATUS_CODES } from 'node:http';
import { collectDefaultMetrics, type Gauge, type Metric, Registry } from 'prom-client';
import type * as core from '../../core/index.ts';
import { atOnce, CALL_PROTOCOLS, RpcCode, readVersion, rpcCodeName } from '../../core/index.ts';
import { type LabelModel, prepareSeries, RESPONSE_CLASSES } from './label-model.ts';
import { type MetricSet, Tally, type TallyHistogram } from './metric-set.ts';

/** Connections open now, read at each scrape. */
export interface ConnectionGauges {
  /** Counts requests whose complete response has not arrived yet. */
  requestsInFlight(): number;
  clientConnections(): number;
  /** Bytes held for clients. */
  bufferedBytes(): number;
  upstreamConnections(): Iterable<readonly [upstream: string, connections: number]>;
  /** Default: there are none. */
  readonly workers?: { readonly count: number } | undefined;
}

/** Gauges of the library whose names have a counter's suffix, which `promtool check metrics` rejects. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

let ofThread: readonly Metric[] | null = null;

/**
 * The library's metrics of the process and of this thread. Created once: from then on it watches garbage collections and never
 * releases the registry that it was given, and so the whole gateway.
 */
function metricsOfThread(): readonly Metric[] {
  if (ofThread !== null) return ofThread;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  ofThread = registry.getMetricsAsArray().flatMap(({ name }) => registry.getSingleMetric(name) ?? []);
  return ofThread;
}

/**
 * The metrics of exchanges and of the process. Labels come from the configuration and from short fixed lists, never from what clients
 * send, so that the number of series is bounded.
 */
export class ExchangeMetrics implements core.ExchangeListener {
  readonly #set: MetricSet;
  readonly #requests: Tally;
  readonly #grpc: Tally;
  readonly #duration: TallyHistogram;
  readonly #webSocketDuration: TallyHistogram;
  /** Open WebSockets, by upstream. */
  readonly #webSockets = new Tally();
  readonly #upstreamDuration: TallyHistogram;
  readonly #upstreamResponses: Tally;
  readonly #bytesReceived: Tally;
  readonly #bytesSent: Tally;
  readonly #retries: Tally;
  readonly #errors: Tally;
  readonly #caps: Tally;
  readonly #untrusted: Tally;
  #routeDurations = false;

  constructor(set: MetricSet) {
    this.#set = set;
    for (const metric of metricsOfThread()) set.registry.registerMetric(metric);
    this.#requests = set.counter('weir_requests_total');
    this.#grpc = set.counter('weir_grpc_calls_total');
    this.#duration = set.histogram('weir_request_duration_seconds', () =>
      this.#routeDurations ? ['upstream', 'route'] : ['upstream'],
    );
    this.#webSocketDuration = set.histogram('weir_websocket_duration_seconds');
    this.#upstreamDuration = set.histogram('weir_upstream_duration_seconds');
    this.#upstreamResponses = set.counter('weir_upstream_responses_total');
    this.#bytesReceived = set.counter('weir_request_body_bytes_total');
    this.#bytesSent = set.counter('weir_response_body_bytes_total');
    this.#retries = set.counter('weir_upstream_retries_total');
    this.#errors = set.counter('weir_errors_total');
    this.#caps = set.counter('weir_caps_met_total');
    this.#untrusted = set.counter('weir_untrusted_forwarding_headers_total');
    set.read('weir_websockets_open', () =>
      Array.from(this.#webSockets.parts, ([upstream, { count }]) => [{ upstream }, count]),
    );
  }

  /** Applies the configuration. Called before `MetricSet.use`, which shows the series. */
  use({ routeDurations, webSocketUpstreams }: LabelModel): void {
    if (this.#routeDurations !== routeDurations) this.#duration.parts.clear();
    this.#routeDurations = routeDurations;
    // A WebSocket outlives the configuration that it began with: open ones stay in the count.
    const open = [...this.#webSockets.parts].filter(([, { count }]) => count > 0);
    const rows = [...webSocketUpstreams, ...open.map(([upstream]) => upstream)].map(upstream => [upstream]);
    atOnce(prepareSeries(this.#webSockets, rows, 0));
    atOnce(prepareSeries(this.#webSocketDuration, rows, 0));
  }

  /** Registers what is read at each scrape. */
  observe(gauges: ConnectionGauges): void {
    const { workers } = gauges;
    const labels = { version: readVersion(), node: process.versions.node };
    this.#set.gauge('weir_build_info').set(workers ? { ...labels, workers: workers.count } : labels, 1);
    this.#set.read('weir_requests_in_flight', () => gauges.requestsInFlight());
    this.#set.read('weir_client_connections', () => gauges.clientConnections());
    this.#set.read('weir_buffered_bytes', () => gauges.bufferedBytes());
    this.#set.read('weir_upstream_connections', () =>
      Array.from(gauges.upstreamConnections(), ([upstream, connections]) => [{ upstream }, connections]),
    );
  }

  switched(upstream: string): void {
    this.#webSockets.of(upstream).count++;
  }

  lasting(): void {}

  finished(record: core.ExchangeRecord): void {
    const upstream = record.upstream ?? 'none';
    this.#noteEnd(record, upstream);
    this.#requests
      .of(record.route ?? 'none')
      .of(statusLabel(record.status))
      .of(record.outcome)
      .of(record.protocol).count++;
    if (CALL_PROTOCOLS.has(record.protocol)) this.#countCall(record);
    if (record.upstreamMs !== null) {
      this.#upstreamDuration.of(upstream).observe(record.upstreamMs / 1_000);
      this.#upstreamResponses.of(upstream).of(responseClass(record)).count++;
    } else if (record.error?.side === 'upstream') this.#upstreamResponses.of(upstream).of('none').count++;
    this.#bytesReceived.count += record.bytesReceived;
    this.#bytesSent.count += record.bytesSent;
    if (record.retried) this.#retries.of(upstream).count++;
    if (record.error !== null) this.#countError(record.error, upstream);
  }

  /** WebSockets are not included in the requests, in number or duration: one would hide thousands of them. */
  #noteEnd({ protocol, status, durationMs, route }: core.ExchangeRecord, upstream: string): void {
    if (protocol === 'websocket' && status === 101) {
      this.#webSockets.of(upstream).count--;
      this.#webSocketDuration.of(upstream).observe(durationMs / 1_000);
    } else {
      const duration = this.#duration.of(upstream);
      (this.#routeDurations ? duration.of(route ?? 'none') : duration).observe(durationMs / 1_000);
    }
  }

  #countCall({ route, grpcStatus }: core.ExchangeRecord): void {
    const code = grpcStatus === null ? 'none' : rpcCodeName(grpcStatus);
    this.#grpc.of(route ?? 'none').of(code).count++;
  }

  #countError({ side, cap }: NonNullable<core.ExchangeRecord['error']>, upstream: string): void {
    this.#errors.of(side).of(upstream).count++;
    if (cap !== null) this.#caps.of(cap).of(upstream).count++;
  }

  /** Only the log has these. */
  challengeRemoved(): void {}

  untrustedForwarding(): void {
    this.#untrusted.count++;
  }
}

/** An upstream may invent a status for every response, so only registered ones get their own label value. */
function statusLabel(status: number): string {
  if (status === 0) return 'none';
  return STATUS_CODES[status] === undefined ? `${Math.floor(status / 100)}xx` : String(status);
}

/** The gRPC statuses for which a service is to blame: those whose HTTP status is 5xx (google/rpc/code.proto). */
const SERVICE_FAULTS: ReadonlySet<RpcCode> = new Set([
  ...[RpcCode.unknown, RpcCode.deadlineExceeded, RpcCode.unimplemented],
  ...[RpcCode.internal, RpcCode.unavailable, RpcCode.dataLoss],
]);

function responseClass({ status, grpcStatus }: core.ExchangeRecord): (typeof RESPONSE_CLASSES)[number] {
  if (grpcStatus !== null && grpcStatus !== RpcCode.ok) return SERVICE_FAULTS.has(grpcStatus) ? '5xx' : '4xx';
  // RFC 9110, 15: a status above 599 is treated as 5xx.
  return RESPONSE_CLASSES[Math.min(5, Math.floor(status / 100)) - 1] ?? 'none';
}

/** What a store holds, read at each scrape. Counts are since startup. */
export interface StoreView {
  readonly keys: number;
  readonly callerOverflows: number;
  /** The requests in flight in each bucket that limits them. */
  readonly concurrent: readonly { readonly bucket: string; readonly inFlight: number }[];
  readonly partitions: readonly PartitionView[];
}

/** Counters that compete for room only with each other. */
interface PartitionView {
  /** The bucket as configured; '' for the global limit. */
  readonly bucket: string;
  readonly role: Exclude<core.DecisionOutcome, 'admitted'>;
  readonly evictions: number;
  readonly overflows: number;
}

/** The metrics of limits and restrictions. Labels are configured bucket names and short fixed lists, never callers. */
export class LimitMetrics implements Omit<core.LimitListener, 'defaultRefused' | 'stoodIn'> {
  /** Decisions by bucket, class, outcome and period. */
  readonly decisions: Tally;
  /** Requests that shadow limits would have refused: by bucket, class and limit. */
  readonly inShadow: Tally;
  /** Requests refused by restrictions and blocks: by class and reason. */
  readonly byRestriction: Tally;
  readonly #set: MetricSet;
  readonly #nearLimit: Tally;
  readonly #prices: Tally;
  readonly #held: Tally;
  readonly #invalid: Tally;
  readonly #restrictions: Tally;
  readonly #restricted: Gauge<string>;
  readonly #evicted: Tally;

  constructor(set: MetricSet) {
    this.#set = set;
    this.decisions = set.counter('weir_limit_decisions_total');
    this.byRestriction = set.counter('weir_restriction_refusals_total');
    this.#nearLimit = set.counter('weir_limit_near_total');
    this.#held = set.counter('weir_limit_held_total');
    this.inShadow = set.counter('weir_shadow_refused_total');
    this.#prices = set.counter('weir_limit_prices_total');
    this.#invalid = set.counter('weir_invalid_requests_total');
    this.#restrictions = set.counter('weir_restrictions_total');
    this.#restricted = set.gauge('weir_restricted');
    this.#evicted = set.counter('weir_restrictions_evicted_total');
  }

  /** Registers what is read at each scrape. Counters of shadow limits are included. */
  observe(store: () => StoreView): void {
    const byPartition = (count: (partition: PartitionView) => number) =>
      store().partitions.map(partition => {
        const { bucket, role } = partition;
        return [{ bucket: bucket || 'none', limit: role }, count(partition)] as const;
      });
    this.#set.read('weir_limit_keys', () => store().keys);
    this.#set.read('weir_limit_caller_overflows_total', () => store().callerOverflows);
    this.#set.read('weir_limit_in_flight', () =>
      store().concurrent.map(({ bucket, inFlight }) => [{ bucket }, inFlight]),
    );
    this.#set.read('weir_limit_keys_evicted_total', () => byPartition(({ evictions }) => evictions));
    this.#set.read('weir_limit_shared_overflows_total', () => byPartition(({ overflows }) => overflows));
  }

  decided({ bucket, callerClass, outcome, period, nearLimit }: core.DecisionEvent): void {
    const name = bucket ?? 'none';
    const isAdmitted = outcome === 'admitted';
    this.decisions
      .of(name)
      .of(callerClass)
      .of(outcome)
      .of(isAdmitted ? '' : period).count++;
    if (nearLimit && isAdmitted) this.#nearLimit.of(name).of(callerClass).of(period).count++;
  }

  refusedByRestriction({ callerClass, why }: core.RestrictionRefusal): void {
    this.byRestriction.of(callerClass).of(why).count++;
  }

  shadowRefused({ bucket, callerClass, by }: core.ShadowEvent): void {
    this.inShadow
      .of(bucket ?? 'none')
      .of(callerClass)
      .of(by).count++;
  }

  priced({ bucket, outcome }: core.PriceEvent): void {
    this.#prices.of(bucket).of(outcome).count++;
  }

  held(outcome: core.HeldOutcome): void {
    this.#held.of(outcome).count++;
  }

  invalid(status: number): void {
    this.#invalid.of(String(status)).count++;
  }

  restricted({ kind, reason }: core.RestrictionEvent): void {
    this.#restrictions.of(kind).of(reason).count++;
    this.#restricted.inc({ kind });
  }

  prolonged(): void {
    // Already counted.
  }

  released({ kind }: core.RestrictionEvent): void {
    this.#restricted.dec({ kind });
  }

  evicted({ kind, key, table }: core.EvictionEvent): void {
    this.#evicted.of(table).count++;
    if (key !== null) this.#restricted.dec({ kind });
  }
}

/** Registers what `IdentityMetrics` counts, in display order. */
function identityMetrics(set: MetricSet) {
  return {
    tokens: set.counter('weir_tokens_total'),
    refused: set.counter('weir_tokens_refused_total'),
    checks: set.counter('weir_signature_checks_total'),
    keys: set.gauge('weir_key_set_keys'),
    keySetFetches: set.counter('weir_key_set_fetches_total'),
    proofs: set.counter('weir_proofs_total'),
    revocationsEvicted: set.counter('weir_revocations_evicted_total'),
    redeemed: set.counter('weir_sign_ins_total'),
    redeemDuration: set.histogram('weir_sign_in_duration_seconds'),
    refreshed: set.counter('weir_refreshes_total'),
    refreshDuration: set.histogram('weir_refresh_duration_seconds'),
    signedOut: set.counter('weir_sign_outs_total'),
    discoveries: set.counter('weir_provider_discoveries_total'),
    refusedNew: set.counter('weir_sign_in_tokens_refused_total'),
    introspections: set.counter('weir_introspections_total'),
    introspectionDuration: set.histogram('weir_introspection_duration_seconds'),
  };
}

/** The metrics of sign-in and access tokens. Every label has a short, closed list of values. */
export class IdentityMetrics {
  readonly #metrics: ReturnType<typeof identityMetrics>;
  /** The values of the label `provider` that have series. */
  #shown: ReadonlySet<string> = new Set();

  constructor(set: MetricSet) {
    this.#metrics = identityMetrics(set);
  }

  /** Applies the configuration: without an identity provider there is nothing to show. */
  use({ providers }: LabelModel): void {
    const labels = new Set((providers ?? []).map(provider => provider ?? ''));
    for (const gone of this.#shown) if (!labels.has(gone)) this.#metrics.keys.remove(labelled(gone));
    this.#shown = labels;
    for (const label of labels) this.#metrics.keys.inc(labelled(label), 0);
  }

  /**
   * Counts findings about one provider's tokens.
   *
   * @param provider its name, or `none`; `null` for the only one, whose series have no such label
   */
  of(provider: string | null): core.AuthListener & core.SignInListener {
    const label = provider ?? '';
    const tokens = this.#metrics.tokens.of(label);
    const refused = this.#metrics.refused.of(label);
    const checks = this.#metrics.checks.of(label);
    const fetches = this.#metrics.keySetFetches.of(label);
    const discoveries = this.#metrics.discoveries.of(label);
    const introspections = this.#metrics.introspections.of(label);
    const { refusedNew } = this.#metrics;
    return {
      tokenKnown: counting(tokens, 'known'),
      signatureChecked: (algorithm: core.SignatureAlgorithm, good: boolean) => {
        checks.of(algorithm).of(String(good)).count++;
        if (good) tokens.of('verified').count++;
      },
      tokenRefused: (reason: core.InvalidReason) => {
        tokens.of('refused').count++;
        refused.of(reason).count++;
      },
      tokenUndecided: counting(tokens, 'undecided'),
      proofAccepted: () => this.#metrics.proofs.count++,
      budgetSpent: counting(tokens, 'put_off'),
      keySetLoaded: (usable: number) => {
        this.#metrics.keys.set(labelled(label), usable);
        fetches.of('loaded').count++;
      },
      keySetFailed: counting(fetches, 'failed'),
      revocationEvicted: () => this.#metrics.revocationsEvicted.count++,
      redeemed: ({ grant, outcome, durationMs }: core.RedeemEvent) => {
        const [attempts, duration] =
          grant === 'code'
            ? [this.#metrics.redeemed, this.#metrics.redeemDuration]
            : [this.#metrics.refreshed, this.#metrics.refreshDuration];
        attempts.of(outcome).count++;
        duration.observe(durationMs / 1_000);
      },
      tokenHandedOut: refusal => {
        if (refusal !== null) refusedNew.of(refusal.reason).count++;
      },
      signedOut: ({ outcome }) => this.#metrics.signedOut.of(outcome).count++,
      introspected: ({ outcome, durationMs }: core.IntrospectionEvent) => {
        introspections.of(outcome).count++;
        if (outcome !== 'overloaded') this.#metrics.introspectionDuration.observe(durationMs / 1_000);
      },
      discovered: ({ outcome }: core.DiscoveryEvent) => discoveries.of(outcome).count++,
    };
  }
}

function counting(tally: Tally, label: string): () => void {
  return () => tally.of(label).count++;
}

function labelled(provider: string): Partial<Record<'provider', string>> {
  return provider === '' ? {} : { provider };
}

/** Counts the notices that providers send to the gateway. */
export function noticeMetrics(set: MetricSet): core.NoticeListener {
  const received = set.counter('weir_notices_total');
  return { noticeReceived: ({ kind, outcome }) => received.of(kind).of(outcome).count++ };
}

/** How many revocations are remembered, for all providers, read at each scrape. */
export interface RevocationView {
  readonly sessions: number;
  readonly subjects: number;
}

/** Registers how many revocations this gateway remembers. */
export function observeRevocations(set: MetricSet, revocations: () => RevocationView): void {
  set.read('weir_revocations', () => {
    const { sessions, subjects } = revocations();
    return [
      [{ kind: 'session' }, sessions],
      [{ kind: 'subject' }, subjects],
    ];
  });
}
