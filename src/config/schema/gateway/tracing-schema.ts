import { z } from 'zod';

import { count, mapSuchAs, text } from '../plain-values.ts';
import { duration, share } from '../scalars/index.ts';

const exportMap = z
  .strictObject(
    {
      endpoint: z
        .string({ error: URL_EXPECTED() })
        .regex(/^https?:\/\/[^\s@?#]+$/, { error: URL_EXPECTED() })
        .describe('Where spans are sent: OTLP over HTTP, as JSON. Required.'),
      service: text('expected a name such as gateway')
        .prefault('weir')
        .describe('The name of this service in the traces (service.name).'),
      queue: count(100_000)
        .prefault(2048)
        .describe('Spans that wait to be sent; beyond it further ones are lost.'),
      timeout: duration({ max: '1m' }).prefault('10s').describe('For one request to the receiver.'),
    },
    mapSuchAs('{ endpoint: http://collector:4318/v1/traces }'),
  )
  .describe('Where spans go. Changes take effect after a restart.');

function URL_EXPECTED(): string {
  return 'expected a URL such as http://collector:4318/v1/traces';
}

const tracingMap = z.strictObject({
  sample: share()
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
