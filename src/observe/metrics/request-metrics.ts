import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type * as core from '../../core/index.ts';
import { atOnce, CALL_PROTOCOLS, RpcCode, rpcCodeName, STATUS_CODES } from '../../core/index.ts';
import { type LabelModel, prepareSeries, RESPONSE_CLASSES } from './label-model.ts';
import { type MetricSet, Tally } from './metric-set.ts';

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
export function exchangeMetrics(set: MetricSet) {
  for (const metric of metricsOfThread()) set.registry.registerMetric(metric);
  let routeDurations = false;
  const requests = set.counter('weir_requests_total');
  const calls = set.counter('weir_grpc_calls_total');
  const durations = set.histogram('weir_request_duration_seconds', () =>
    routeDurations ? ['upstream', 'route'] : ['upstream'],
  );
  const webSocketDurations = set.histogram('weir_websocket_duration_seconds');
  const upstreamDurations = set.histogram('weir_upstream_duration_seconds');
  const upstreamResponses = set.counter('weir_upstream_responses_total');
  const bytesReceived = set.counter('weir_request_body_bytes_total');
  const bytesSent = set.counter('weir_response_body_bytes_total');
  const retries = set.counter('weir_upstream_retries_total');
  const errors = set.counter('weir_errors_total');
  const caps = set.counter('weir_caps_met_total');
  const untrusted = set.counter('weir_untrusted_forwarding_headers_total');
  /** Open WebSockets, by upstream. */
  const webSockets = new Tally();
  set.read('weir_websockets_open', () =>
    Array.from(webSockets.parts, ([upstream, { count }]) => [{ upstream }, count]),
  );
  /** Leave WebSockets out of the requests, in number and duration: a single one lasts as long as thousands of requests. */
  const noteEnd = ({ protocol, status, durationMs, route }: core.ExchangeRecord, upstream: string) => {
    if (protocol === 'websocket' && status === 101) {
      webSockets.of(upstream).count--;
      webSocketDurations.of(upstream).observe(durationMs / 1_000);
    } else {
      const duration = durations.of(upstream);
      (routeDurations ? duration.of(route ?? 'none') : duration).observe(durationMs / 1_000);
    }
  };
  const countCall = ({ route, grpcStatus }: core.ExchangeRecord) => {
    const code = grpcStatus === null ? 'none' : rpcCodeName(grpcStatus);
    calls.of(route ?? 'none').of(code).count++;
  };
  return {
    /** Applies the configuration. Called before `MetricSet.use`, which shows the series. */
    use(model: LabelModel): void {
      if (routeDurations !== model.routeDurations) durations.parts.clear();
      routeDurations = model.routeDurations;
      // A WebSocket outlives the configuration that it began with: open ones stay in the count.
      const open = [...webSockets.parts].filter(([, { count }]) => count > 0).map(([upstream]) => upstream);
      const rows = [...model.webSocketUpstreams, ...open].map(upstream => [upstream]);
      atOnce(prepareSeries(webSockets, rows, 0));
      atOnce(prepareSeries(webSocketDurations, rows, 0));
    },
    switched: (upstream: string) => webSockets.of(upstream).count++,
    untrustedForwarding: () => untrusted.count++,
    finished(record: core.ExchangeRecord): void {
      const { error } = record;
      const upstream = record.upstream ?? 'none';
      noteEnd(record, upstream);
      requests
        .of(record.route ?? 'none')
        .of(statusLabel(record.status))
        .of(record.outcome)
        .of(record.protocol).count++;
      if (CALL_PROTOCOLS.has(record.protocol)) countCall(record);
      if (record.upstreamMs !== null) {
        upstreamDurations.of(upstream).observe(record.upstreamMs / 1_000);
        upstreamResponses.of(upstream).of(responseClass(record)).count++;
      } else if (error?.side === 'upstream') upstreamResponses.of(upstream).of('none').count++;
      bytesReceived.count += record.bytesReceived;
      bytesSent.count += record.bytesSent;
      if (record.retried) retries.of(upstream).count++;
      if (error === null) return;
      errors.of(error.side).of(upstream).count++;
      if (error.cap !== null) caps.of(error.cap).of(upstream).count++;
    },
  };
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

/** The metrics of limits and restrictions. Labels are configured bucket names and short fixed lists, never callers. */
export function limitMetrics(set: MetricSet) {
  const decisions = set.counter('weir_limit_decisions_total');
  const byRestriction = set.counter('weir_restriction_refusals_total');
  const nearLimits = set.counter('weir_limit_near_total');
  const heldRequests = set.counter('weir_limit_held_total');
  const inShadow = set.counter('weir_shadow_refused_total');
  const prices = set.counter('weir_limit_prices_total');
  const invalidRequests = set.counter('weir_invalid_requests_total');
  const restrictions = set.counter('weir_restrictions_total');
  const inForce = set.gauge('weir_restricted');
  const evictions = set.counter('weir_restrictions_evicted_total');
  return {
    /** Decisions by bucket, class, outcome and period. */
    decisions,
    /** Requests that shadow limits would have refused: by bucket, class and limit. */
    inShadow,
    /** Requests refused by restrictions and blocks: by class and reason. */
    byRestriction,
    decided({ bucket, callerClass, outcome, period, nearLimit }) {
      const name = bucket ?? 'none';
      const isAdmitted = outcome === 'admitted';
      decisions
        .of(name)
        .of(callerClass)
        .of(outcome)
        .of(isAdmitted ? '' : period).count++;
      if (nearLimit && isAdmitted) nearLimits.of(name).of(callerClass).of(period).count++;
    },
    refusedByRestriction: ({ callerClass, why }) => byRestriction.of(callerClass).of(why).count++,
    shadowRefused({ bucket, callerClass, by }) {
      inShadow
        .of(bucket ?? 'none')
        .of(callerClass)
        .of(by).count++;
    },
    priced: ({ bucket, outcome }) => prices.of(bucket).of(outcome).count++,
    held: outcome => heldRequests.of(outcome).count++,
    invalid: status => invalidRequests.of(String(status)).count++,
    restricted({ kind, reason }) {
      restrictions.of(kind).of(reason).count++;
      inForce.inc({ kind });
    },
    released: ({ kind }) => inForce.dec({ kind }),
    evicted({ kind, key, table }) {
      evictions.of(table).count++;
      if (key !== null) inForce.dec({ kind });
    },
  } satisfies Partial<core.LimitListener> & Readonly<Record<string, unknown>>;
}

/** The metrics of sign-in and access tokens. Every label has a short, closed list of values. */
export function identityMetrics(set: MetricSet) {
  const allTokens = set.counter('weir_tokens_total');
  const allRefused = set.counter('weir_tokens_refused_total');
  const allChecks = set.counter('weir_signature_checks_total');
  const keys = set.gauge('weir_key_set_keys');
  const keySetFetches = set.counter('weir_key_set_fetches_total');
  const proofs = set.counter('weir_proofs_total');
  const revocationsEvicted = set.counter('weir_revocations_evicted_total');
  const redeemed = set.counter('weir_sign_ins_total');
  const redeemDuration = set.histogram('weir_sign_in_duration_seconds');
  const refreshed = set.counter('weir_refreshes_total');
  const refreshDuration = set.histogram('weir_refresh_duration_seconds');
  const signedOut = set.counter('weir_sign_outs_total');
  const allDiscoveries = set.counter('weir_provider_discoveries_total');
  const refusedNew = set.counter('weir_sign_in_tokens_refused_total');
  const allIntrospections = set.counter('weir_introspections_total');
  const introspectionDuration = set.histogram('weir_introspection_duration_seconds');
  /** The values of the label `provider` that have series. */
  let shown: ReadonlySet<string> = new Set();
  return {
    /** Applies the configuration: without an identity provider there is nothing to show. */
    use({ providers }: LabelModel): void {
      const labels = new Set((providers ?? []).map(provider => provider ?? ''));
      for (const gone of shown) if (!labels.has(gone)) keys.remove(labelled(gone));
      shown = labels;
      for (const label of labels) keys.inc(labelled(label), 0);
    },

    /**
     * Counts findings about one provider's tokens.
     *
     * @param provider its name, or `none`; `null` for the only one, whose series have no such label
     */
    of(provider: string | null): core.AuthListener & core.SignInListener {
      const label = provider ?? '';
      const tokens = allTokens.of(label);
      const refused = allRefused.of(label);
      const checks = allChecks.of(label);
      const fetches = keySetFetches.of(label);
      const discoveries = allDiscoveries.of(label);
      const introspections = allIntrospections.of(label);
      return {
        tokenKnown: counting(tokens, 'known'),
        signatureChecked(algorithm, good) {
          checks.of(algorithm).of(String(good)).count++;
          if (good) tokens.of('verified').count++;
        },
        tokenRefused(reason) {
          tokens.of('refused').count++;
          refused.of(reason).count++;
        },
        tokenUndecided: counting(tokens, 'undecided'),
        proofAccepted: () => proofs.count++,
        budgetSpent: counting(tokens, 'put_off'),
        keySetLoaded(usable) {
          keys.set(labelled(label), usable);
          fetches.of('loaded').count++;
        },
        keySetFailed: counting(fetches, 'failed'),
        revocationEvicted: () => revocationsEvicted.count++,
        redeemed({ grant, outcome, durationMs }) {
          const [attempts, duration] =
            grant === 'code' ? [redeemed, redeemDuration] : [refreshed, refreshDuration];
          attempts.of(outcome).count++;
          duration.observe(durationMs / 1_000);
        },
        tokenHandedOut(refusal) {
          if (refusal !== null) refusedNew.of(refusal.reason).count++;
        },
        signedOut: ({ outcome }) => signedOut.of(outcome).count++,
        introspected({ outcome, durationMs }) {
          introspections.of(outcome).count++;
          if (outcome !== 'overloaded') introspectionDuration.observe(durationMs / 1_000);
        },
        discovered: ({ outcome }) => discoveries.of(outcome).count++,
      };
    },
  };
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
