import { z } from 'zod';
import { hasOddIpv4 } from '../../../wire/http/index.ts';
import {
  choice,
  count,
  duration,
  mapExpected,
  ODD_IPV4,
  pathOfFile,
  shareOfCallers,
  text,
  yesOrNo,
} from '../../values/index.ts';

/** `log` of gateway.yaml. */
export const logSchema = z
  .strictObject({
    level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .prefault('info')
      .describe('The lowest level that is written.'),
    access: yesOrNo().prefault(true).describe('Whether to write one line per request.'),
    fields: z
      .array(z.literal('user_agent', { error: 'expected user_agent' }), {
        error: 'expected a list such as [user_agent]',
      })
      .prefault([])
      .describe('What access lines have beyond the usual: user_agent, what clients say that they are.'),
    pseudonym_key_file: pathOfFile()
      .optional()
      .describe(
        'A file with the key for the pseudonyms of callers in the log, at least 32 characters. Relative to this file. Left out: a random key per process, so that pseudonyms change at each start.',
      ),
  })
  .prefault({})
  .describe('The log on standard output, one JSON object per line.');

/** `metrics` of gateway.yaml. */
export const metricsSchema = z
  .strictObject({
    route_durations: yesOrNo()
      .prefault(false)
      .describe(
        'Whether weir_request_duration_seconds has the label route as well. Costs up to 36 lines of a scrape per route.',
      ),
  })
  .prefault({})
  .describe('The metrics of the admin listener, in the text format of Prometheus.');

const RECEIVER = /^https?:\/\/[^\s@?#]+$/;

const exportMap = z
  .strictObject(
    {
      endpoint: z
        .string({ error: URL_EXPECTED() })
        .regex(RECEIVER, { error: URL_EXPECTED() })
        .refine(text => !RECEIVER.test(text) || URL.canParse(text), { error: URL_EXPECTED() })
        .refine(text => !hasOddIpv4(text), { error: ODD_IPV4 })
        .describe('Where spans are sent: OTLP over HTTP, as JSON. Required.'),
      service: text('expected a name such as gateway')
        .prefault('weir')
        .describe('The name of this service in the traces (service.name).'),
      queue: count(100_000)
        .prefault(2048)
        .describe('Maximum number of spans waiting to be sent; beyond it new spans are dropped.'),
      timeout: duration({ max: '1m' }).prefault('10s').describe('Timeout of one request to the receiver.'),
    },
    mapExpected('{ endpoint: http://collector:4318/v1/traces }'),
  )
  .describe('Where spans go. Changes take effect after a restart.');

function URL_EXPECTED(): string {
  return 'expected a URL such as http://collector:4318/v1/traces';
}

const tracingMap = z.strictObject({
  sample: shareOfCallers()
    .prefault('10%')
    .describe('The share of new traces that are recorded. A trusted proxy decides about its own.'),
  export: z
    .union([z.literal('off').transform(() => null), exportMap], {
      error: 'expected off, or a map with endpoint',
    })
    .prefault('off')
    .describe('Where spans are sent, by OpenTelemetry. off: nowhere. Changes take effect after a restart.'),
});

/** `tracing` of gateway.yaml. */
export const tracingSchema = z
  .union([z.literal('off').transform(() => null), tracingMap], {
    error: 'expected off, or a map such as { sample: 10% }',
  })
  .prefault('off')
  .describe(
    'Whether the gateway takes part in traces (W3C Trace Context). off: traceparent and tracestate pass unchanged.',
  );
