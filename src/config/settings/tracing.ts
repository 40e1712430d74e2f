import { z } from 'zod';
import { missingSdk, type SpanExportOptions } from '../../observe/index.ts';
import { hasOddIpv4 } from '../../wire/http/index.ts';
import { asMap, isMap } from '../file/index.ts';
import { count, duration, mapOf, ODD_IPV4, shareOfCallers, text, wordOr } from '../values/index.ts';
import { setting } from './setting.ts';

const RECEIVER = /^https?:\/\/[^\s@?#]+$/;

const exportMap = mapOf('{ endpoint: http://collector:4318/v1/traces }', {
  endpoint: z
    .string({ error: URL_EXPECTED() })
    .regex(RECEIVER, { error: URL_EXPECTED() })
    .refine(text => !RECEIVER.test(text) || URL.canParse(text), { error: URL_EXPECTED() })
    .refine(text => !hasOddIpv4(text), { error: ODD_IPV4 })
    .describe('Where spans are sent: OTLP over HTTP, as JSON. Required.'),
  service: text('expected a name such as gateway', 'weir').describe(
    'The name of this service in the traces (service.name).',
  ),
  queue: count(100_000, 2048).describe(
    'Maximum number of spans waiting to be sent; beyond it new spans are dropped.',
  ),
  timeout: duration({ max: '1m', otherwise: '10s' }).describe('Timeout of one request to the receiver.'),
}).describe('Where spans go. Changes take effect after a restart.');

function URL_EXPECTED(): string {
  return 'expected a URL such as http://collector:4318/v1/traces';
}

const tracingMap = z.strictObject({
  sample: shareOfCallers()
    .prefault('10%')
    .describe('The share of new traces that are recorded. A trusted proxy decides about its own.'),
  export: wordOr('off', exportMap, 'expected off, or a map with endpoint')
    .prefault('off')
    .describe('Where spans are sent, by OpenTelemetry. off: nowhere. Changes take effect after a restart.'),
});

/** `tracing`: how the gateway takes part in traces; `null` if it does not. */
export const tracing = setting({
  keys: {
    tracing: wordOr('off', tracingMap, 'expected off, or a map such as { sample: 10% }')
      .prefault('off')
      .describe(
        'Whether the gateway takes part in traces (W3C Trace Context). off: traceparent and tracestate pass unchanged.',
      ),
  },
  // Warns if spans cannot be exported from here. Not an error: the gateway may run elsewhere.
  check({ tracing }, file) {
    if (!isMap(asMap(tracing).export)) return;
    const missing = missingSdk();
    if (missing !== null) file.warn(['tracing', 'export'], missing);
  },
  compile({ tracing }): { readonly tracing: TracingModel | null } {
    if (tracing === null) return { tracing };
    const { sample: share, export: receiver } = tracing;
    if (receiver === null) return { tracing: { share, export: null } };
    const { timeout: timeoutMs, ...to } = receiver;
    return { tracing: { share, export: { ...to, timeoutMs } } };
  },
  needsRestart: [
    {
      key: 'tracing.export',
      value: ({ tracing }) => tracing?.export ?? null,
      written: ({ tracing }) => tracing?.export?.endpoint ?? 'off',
    },
  ],
});

interface TracingModel {
  /** The fraction of new traces that are recorded, 0 to 1. */
  readonly share: number;
  /** Where spans are sent; `null` if nowhere. */
  readonly export: SpanExportOptions | null;
}
