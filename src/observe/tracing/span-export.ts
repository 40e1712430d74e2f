import { createRequire } from 'node:module';
import type { Attributes, Context, HrTime, Tracer } from '@opentelemetry/api';
import type { Clock, ExchangeListener, ExchangeRecord, TraceRecord } from '../../core/index.ts';
import type { Logger } from '../log/index.ts';
import {
  clientAttributes,
  isFailedUpstream,
  type SpanPeer,
  serverAttributes,
  spanName,
} from './span-attributes.ts';

/** Where spans go. */
export interface SpanExportOptions {
  readonly endpoint: string;
  /** `service.name` */
  readonly service: string;
  /** Spans that may wait; further ones are lost. */
  readonly queue: number;
  readonly timeoutMs: number;
}

/** A receiver that is away would otherwise fill the log. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Exports two spans for each recorded exchange once it is over: its own, and that of its upstream until the head of the response.
 * The spans have the ids that the exchange has told others.
 */
export class SpanExport implements Partial<ExchangeListener> {
  readonly #sdk: Sdk;
  readonly #tracer: Tracer;
  readonly #shutdown: () => Promise<void>;
  /** The ids of the next span that is made. */
  #ids = { traceId: '', spanId: '' };
  #peers: ReadonlyMap<string, SpanPeer> = new Map();

  constructor(options: SpanExportOptions, version: string, sdk: Sdk, log: Logger, clock: Clock) {
    const { api, trace, resources, otlp } = sdk;
    this.#sdk = sdk;
    api.diag.setLogger(failureLog(log, clock), api.DiagLogLevel.ERROR);
    const exporter = new otlp.OTLPTraceExporter({ url: options.endpoint, timeoutMillis: options.timeoutMs });
    const provider = new trace.TracerProvider({
      // What is not to be recorded never comes here.
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
          exporter,
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

  /** Follows the configuration: where each upstream is. */
  use(peers: ReadonlyMap<string, SpanPeer>): void {
    this.#peers = peers;
  }

  finished(record: ExchangeRecord): void {
    const { trace } = record;
    if (trace?.sampled !== true) return;
    const { SpanKind } = this.#sdk.api;
    const { arrivedAtMs, durationMs, upstream } = record;
    const kind = SpanKind.SERVER;
    const parent = this.#contextOf(trace, trace.parentId);
    this.#span(record, trace.spanId, parent, kind, serverAttributes(record), {
      ...{
        fromMs: arrivedAtMs,
        toMs: arrivedAtMs + durationMs,
        failed: record.status >= 500 || record.status === 0,
      },
    });
    if (upstream === null || record.sentAfterMs === null) return;
    const fromMs = arrivedAtMs + record.sentAfterMs;
    const toMs = record.upstreamMs === null ? arrivedAtMs + durationMs : fromMs + record.upstreamMs;
    const attributes = clientAttributes(record, this.#peers.get(upstream));
    this.#span(
      record,
      trace.upstreamSpanId,
      this.#contextOf(trace, trace.spanId),
      SpanKind.CLIENT,
      attributes,
      {
        ...{ fromMs, toMs, failed: isFailedUpstream(record) },
      },
    );
  }

  /** Sends what waits. */
  stop(): Promise<void> {
    return this.#shutdown().catch(() => {});
  }

  #span(
    record: ExchangeRecord,
    spanId: string,
    parent: Context,
    kind: number,
    attributes: Attributes,
    { fromMs, toMs, failed }: { readonly fromMs: number; readonly toMs: number; readonly failed: boolean },
  ): void {
    const { api } = this.#sdk;
    this.#ids = { traceId: record.trace?.traceId ?? '', spanId };
    const span = this.#tracer.startSpan(
      spanName(record),
      { kind, attributes, startTime: hrTime(fromMs) },
      parent,
    );
    if (failed) span.setStatus({ code: api.SpanStatusCode.ERROR });
    span.end(hrTime(toMs));
  }

  /** The context of what a span is part of. */
  #contextOf({ traceId }: TraceRecord, spanId: string | null): Context {
    const { ROOT_CONTEXT, trace, TraceFlags } = this.#sdk.api;
    if (spanId === null) return ROOT_CONTEXT;
    return trace.setSpanContext(ROOT_CONTEXT, {
      traceId,
      spanId,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
  }
}

/** A number would be taken for one of another clock if it is small. */
function hrTime(epochMs: number): HrTime {
  const seconds = Math.floor(epochMs / 1_000);
  return [seconds, Math.round((epochMs - seconds * 1_000) * 1e6)];
}

/** What the SDK tells of failures, once a minute. */
function failureLog(log: Logger, clock: Clock) {
  const silent = () => {};
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  const error = (message: string) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - loggedAtMs < LOG_INTERVAL_MS) return;
    loggedAtMs = nowMs;
    log.warn({ type: 'tracing', cause: message }, 'spans cannot be exported: some are lost');
  };
  return { error, warn: silent, info: silent, debug: silent, verbose: silent };
}

/** Loads the SDK of OpenTelemetry and begins to export. Rejects with `MissingPackages` if it is not installed. */
export async function openSpanExport(
  options: SpanExportOptions,
  version: string,
  log: Logger,
  clock: Clock,
): Promise<SpanExport> {
  return new SpanExport(options, version, await loadSdk(), log, clock);
}

/** The packages that an operator who exports spans installs beside the gateway. */
const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const;

const NEEDS = `needs packages that are not installed: npm install ${PACKAGES.join(' ')}`;

/** The parts of OpenTelemetry's SDK. */
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

/** What an operator has to do before the SDK can be loaded; null: nothing. Loads nothing. */
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

/** Packages are not installed. The message says which, and how to install them. */
export class MissingPackages extends Error {}
