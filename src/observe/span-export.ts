import { createRequire } from 'node:module';
import type { Attributes, Context, HrTime, Tracer } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock, ExchangeListener, ExchangeRecord, TimerClock, TraceRecord } from '../core/index.ts';
import { finishedWithin, jsonIn } from '../core/index.ts';
import { type Logger, OncePerInterval } from './log/index.ts';

export interface SpanPeer {
  readonly host: string;
  readonly port: number;
}

// The attributes of HTTP spans, by their stable names (https://opentelemetry.io/docs/specs/semconv/http/http-spans/). Possible
// secrets and personal data are omitted: path, query, address and header fields.

/** Methods of RFC 9110 and RFC 5789. Anything else is a value that a client chose. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);

function serverAttributes(record: ExchangeRecord): Attributes {
  const { method, route, status, protocol, error } = record;
  return {
    'http.request.method': methodOf(method),
    ...(route === null ? {} : { 'http.route': pathOf(route) }),
    ...(status === 0 ? {} : { 'http.response.status_code': status }),
    'network.protocol.name': 'http',
    // gRPC-Web runs over both.
    ...(protocol === 'grpc_web'
      ? {}
      : { 'network.protocol.version': protocol === 'h2' || protocol === 'grpc' ? '2' : '1.1' }),
    ...(status >= 500 || status === 0 ? { 'error.type': error?.side ?? errorType(status) } : {}),
  };
}

/** The attributes of the span that covers the upstream's part. */
function clientAttributes(record: ExchangeRecord, peer: SpanPeer | undefined): Attributes {
  const { method, status, upstreamMs, retried } = record;
  const answered = upstreamMs !== null;
  return {
    'http.request.method': methodOf(method),
    ...(peer === undefined ? {} : { 'server.address': peer.host, 'server.port': peer.port }),
    ...peerAttributes(record.endpoint),
    ...(answered ? { 'http.response.status_code': status } : {}),
    ...(isFailedUpstream(record) ? { 'error.type': errorType(answered ? status : 0) } : {}),
    ...(retried ? { 'http.request.resend_count': 1 } : {}),
  };
}

/** The address of the endpoint, if an upstream has several. */
function peerAttributes(endpoint: string | null): Attributes {
  const [, address, port] = /^\[?(.+?)\]?:(\d+)$/.exec(endpoint ?? '') ?? [];
  if (address === undefined) return {};
  return { 'network.peer.address': address, 'network.peer.port': Number(port) };
}

/** Whether the upstream's part failed: for a client, from 400 on. */
function isFailedUpstream({ status, upstreamMs }: ExchangeRecord): boolean {
  return upstreamMs === null || status >= 400;
}

/** The name of a span: `GET /v1/things/{id}`, or only the method. */
function spanName({ method, route }: ExchangeRecord): string {
  const known = METHODS.has(method) ? method : 'HTTP';
  return route === null ? known : `${known} ${pathOf(route)}`;
}

function methodOf(method: string): string {
  return METHODS.has(method) ? method : '_OTHER';
}

/** The template of a route such as `GET,HEAD /v1/things/{id}`. */
function pathOf(route: string): string {
  return route.slice(route.lastIndexOf(' ') + 1);
}

function errorType(status: number): string {
  return status === 0 ? '_OTHER' : String(status);
}

export interface SpanExportOptions {
  readonly endpoint: string;
  /** `service.name` */
  readonly service: string;
  /** Maximum spans waiting; further ones are lost. */
  readonly queue: number;
  readonly timeoutMs: number;
}

interface Span {
  readonly spanId: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly parent: Context;
  readonly fromMs: number;
  readonly toMs: number;
  readonly failed: boolean;
}

/**
 * Exports two spans for each recorded exchange at its end: its own, and the upstream's until the head of the response. The spans
 * have the ids that were sent in `traceparent`.
 */
export class SpanExport implements Partial<ExchangeListener> {
  readonly #sdk: Sdk;
  readonly #tracer: Tracer;
  readonly #log: Logger;
  readonly #clock: TimerClock;
  readonly #queue: number;
  readonly #shutdown: () => Promise<void>;
  /** Spans that wait in the SDK, and those on their way to the receiver. */
  #waiting = 0;
  #sent = 0;
  readonly #lost = { queue: 0, receiver: 0 };
  /** The ids of the next span. */
  #ids = { traceId: '', spanId: '' };
  #peers: ReadonlyMap<string, SpanPeer> = new Map();

  constructor(options: SpanExportOptions, version: string, sdk: Sdk, log: Logger, clock: TimerClock) {
    const { api, trace, resources, otlp } = sdk;
    this.#sdk = sdk;
    this.#log = log;
    this.#clock = clock;
    this.#queue = options.queue;
    const failed = failureLog(log, clock);
    api.diag.setLogger(
      { error: failed, warn: silent, info: silent, debug: silent, verbose: silent },
      api.DiagLogLevel.ERROR,
    );
    const exporter = new otlp.OTLPTraceExporter({ url: options.endpoint, timeoutMillis: options.timeoutMs });
    const counting: SpanExporter = {
      export: (spans, then) => {
        this.#waiting -= spans.length;
        this.#sent += spans.length;
        exporter.export(spans, ({ error }) => {
          this.#sent -= spans.length;
          if (error !== undefined) {
            this.#lost.receiver += spans.length;
            failed(error.message);
          }
          // The loss was counted and logged here. An error would make the SDK log it again, as JSON.
          then({ code: 0 });
        });
      },
      shutdown: () => exporter.shutdown(),
    };
    const provider = new trace.TracerProvider({
      // Spans that are not to be recorded never get here.
      sampler: new trace.AlwaysOnSampler(),
      resource: resources.resourceFromAttributes({
        'service.name': options.service,
        'service.version': version,
      }),
      idGenerator: {
        generateTraceId: () => this.#ids.traceId,
        generateSpanId: () => this.#ids.spanId,
      },
      spanProcessors: [
        new trace.BatchSpanProcessor({
          exporter: counting,
          maxQueueSize: options.queue,
          maxExportBatchSize: Math.min(options.queue, 512),
          exportTimeoutMillis: options.timeoutMs,
          scheduledDelayMillis: 1_000,
        }),
      ],
    });
    this.#tracer = provider.getTracer('weir', version);
    this.#shutdown = () => provider.shutdown();
  }

  /** Applies the configuration: the address of each upstream. */
  use(peers: ReadonlyMap<string, SpanPeer>): void {
    this.#peers = peers;
  }

  finished(record: ExchangeRecord): void {
    const { trace } = record;
    if (trace?.sampled !== true) return;
    const { SpanKind } = this.#sdk.api;
    const { arrivedAtMs, durationMs, upstream } = record;
    const endMs = arrivedAtMs + durationMs;
    const failed = record.status >= 500 || record.status === 0;
    const parent = this.#contextOf(trace, trace.parentId);
    const server = { kind: SpanKind.SERVER, attributes: serverAttributes(record), parent };
    this.#span(record, { ...server, spanId: trace.spanId, fromMs: arrivedAtMs, toMs: endMs, failed });
    if (upstream === null || record.sentAfterMs === null) return;
    const fromMs = arrivedAtMs + record.sentAfterMs;
    const toMs = record.upstreamMs === null ? endMs : fromMs + record.upstreamMs;
    const attributes = clientAttributes(record, this.#peers.get(upstream));
    const client = { kind: SpanKind.CLIENT, attributes, parent: this.#contextOf(trace, trace.spanId) };
    const spanId = trace.upstreamSpanId;
    this.#span(record, { ...client, spanId, fromMs, toMs, failed: isFailedUpstream(record) });
  }

  /** Spans lost since startup: the queue was full, or the receiver did not take them. */
  get lost(): readonly (readonly [Readonly<Record<'reason', string>>, number])[] {
    return Object.entries(this.#lost).map(([reason, count]) => [{ reason }, count]);
  }

  /** Sends what is waiting, for at most two seconds. Logs how many spans are lost. */
  async stop(): Promise<void> {
    const before = this.#lost.receiver;
    await finishedWithin(STOP_MS, this.#shutdown().catch(silent), this.#clock);
    const spans = this.#lost.receiver - before + this.#waiting + this.#sent;
    if (spans > 0)
      this.#log.warn({ type: 'tracing', spans }, 'spans were not sent before the gateway stopped');
  }

  #span(record: ExchangeRecord, { spanId, kind, attributes, parent, fromMs, toMs, failed }: Span): void {
    const { api } = this.#sdk;
    this.#ids = { traceId: record.trace?.traceId ?? '', spanId };
    const options = { kind, attributes, startTime: hrTime(fromMs) };
    const span = this.#tracer.startSpan(spanName(record), options, parent);
    if (failed) span.setStatus({ code: api.SpanStatusCode.ERROR });
    // The SDK silently drops what does not fit, so count it here.
    if (this.#waiting < this.#queue) this.#waiting++;
    else this.#lost.queue++;
    span.end(hrTime(toMs));
  }

  #contextOf({ traceId }: TraceRecord, spanId: string | null): Context {
    const { ROOT_CONTEXT, trace, TraceFlags } = this.#sdk.api;
    if (spanId === null) return ROOT_CONTEXT;
    const context = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
    return trace.setSpanContext(ROOT_CONTEXT, context);
  }
}

/** A pair of seconds and nanoseconds: the SDK would take a small number for a time since the process began. */
function hrTime(epochMs: number): HrTime {
  const seconds = Math.floor(epochMs / 1_000);
  return [seconds, Math.round((epochMs - seconds * 1_000) * 1e6)];
}

const silent = () => {};
const STOP_MS = 2_000;

/** Logs failures, at most once a minute: an unavailable receiver would otherwise fill the log. */
function failureLog(log: Logger, clock: Clock): (message: string) => void {
  const failures = new OncePerInterval(clock);
  return message => {
    if (failures.count('export') === 0) return;
    log.warn({ type: 'tracing', cause: messageIn(message) }, 'spans cannot be exported: some are lost');
  };
}

/** The SDK reports an error as JSON, with its stack. */
function messageIn(text: string): string {
  const error = jsonIn(text);
  const hasMessage = typeof error === 'object' && error !== null && 'message' in error;
  return hasMessage && typeof error.message === 'string' ? error.message : text;
}

/** Loads the OpenTelemetry SDK and begins to export. Rejects with `MissingPackages` if it is not installed. */
export async function openSpanExport(
  options: SpanExportOptions,
  version: string,
  log: Logger,
  clock: TimerClock,
): Promise<SpanExport> {
  return new SpanExport(options, version, await loadSdk(), log, clock);
}

/** The packages that an operator who exports spans installs next to the gateway. */
const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const;

const NEEDS = `needs packages that are not installed: npm install ${PACKAGES.join(' ')}`;

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** Loads the SDK, which is optional. Rejects with `MissingPackages` if it is not installed. */
async function loadSdk() {
  try {
    const [api, trace, resources, otlp] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
    return { api, trace, resources, otlp };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new MissingPackages(`tracing.export ${NEEDS}`);
  }
}

/** What an operator has to do before the SDK can be loaded; null if nothing. Loads nothing. */
export function missingSdk(): string | null {
  return PACKAGES.every(isInstalled) ? null : NEEDS;
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Thrown if packages are not installed. The message says which, and how to install them. */
export class MissingPackages extends Error {}
