import { z } from 'zod';
import { network, secrecyOf, text } from '../../values/index.ts';
import { accessTokensSchema } from './access-tokens-schema.ts';
import { capsSchema, clientTimeoutsSchema, http2Schema, shutdownSchema } from './caps-schema.ts';
import { corsSchema, forwardingHeadersSchema } from './forwarding-schema.ts';
import { identityProviderSchema, identityProvidersSchema, signInSchema } from './identity-schema.ts';
import { listenSchema } from './listen-schema.ts';
import { logSchema, metricsSchema, tracingSchema } from './observing-schema.ts';
import { routesSchema } from './routes-schema.ts';
import { storeSchema } from './store-schema.ts';
import { upstreamsSchema } from './upstreams-schema.ts';

// The one definition of gateway.yaml: it validates, supplies defaults, and becomes the JSON Schema for editors. Defaults are
// written as an operator would write them (`prefault`), so they pass through the same parsers.

/** The shape of gateway.yaml. cross-checks.ts checks how its parts fit together. */
export const gatewaySchema = z.strictObject({
  listen: listenSchema.prefault({}).describe('Where the gateway listens.'),
  trusted_proxies: z
    .union([z.literal('none').transform(() => [] as string[]), z.array(network())], {
      error: 'expected none, or a list of networks such as [10.1.0.0/16]',
    })
    .prefault('none')
    .describe(
      'Networks and addresses of the proxies in front of the gateway, or none. Only their X-Forwarded-* and X-Request-Id are trusted.',
    ),
  forwarding_headers: forwardingHeadersSchema.describe(
    'Additional header fields that only trusted proxies may send, like X-Forwarded-* and X-Real-IP; from anyone else they are removed. As a map: fields to remove, and fields to keep that would otherwise be removed.',
  ),
  identity_provider: identityProviderSchema
    .optional()
    .describe(
      'The OpenID Connect provider that issues tokens and signs users in. Without it, every route must say "authentication: none".',
    ),
  access_tokens: accessTokensSchema
    .optional()
    .describe(
      'Which access tokens are accepted, and how they identify callers. Required with identity_provider.',
    ),
  identity_providers: identityProvidersSchema
    .optional()
    .describe(
      'Instead of identity_provider: several providers, each with its name, its audience and the callers it identifies. The same keys as identity_provider otherwise.',
    ),
  sign_in: signInSchema,
  upstreams: upstreamsSchema,
  routes: routesSchema,
  cors: corsSchema.describe(
    'Which web pages of other origins may call the gateway from a browser. off: preflights are ordinary requests.',
  ),
  store: storeSchema.describe(
    'Where limits are counted. memory: in each gateway alone. A map: in Redis, for all gateways together. Changes take effect after a restart.',
  ),
  limits: text('expected none, or the path of a file such as limits.yaml')
    .transform(path => (path === 'none' ? null : path))
    .prefault('none')
    .describe(
      'The file with the rate limits, limits.yaml, or a folder whose *.yaml files are read as one; relative to this file. none: the defaults.',
    ),
  timeouts: clientTimeoutsSchema,
  caps: capsSchema,
  http2: http2Schema,
  shutdown: shutdownSchema,
  log: logSchema,
  tracing: tracingSchema,
  metrics: metricsSchema,
});

export const gatewaySecrecy = secrecyOf(gatewaySchema);

/** gateway.yaml with all defaults: times in milliseconds, sizes in bytes. */
export type GatewayConfig = z.output<typeof gatewaySchema>;
