import { z } from 'zod';

import { text } from '../plain-values.ts';
import { network } from '../scalars.ts';
import { secrecyOf } from '../secrecy.ts';
import { capsSchema } from './caps-schema.ts';
import { clientTimeoutsSchema } from './client-timeouts-schema.ts';
import { corsSchema } from './cors-schema.ts';
import { forwardingHeadersSchema } from './forwarding-schema.ts';
import { http2Schema } from './http2-schema.ts';
import { accessTokensSchema, identityProviderSchema } from './identity-schema.ts';
import { listenSchema } from './listen-schema.ts';
import { logSchema } from './log-schema.ts';
import { routesSchema } from './routes-schema.ts';
import { shutdownSchema } from './shutdown-schema.ts';
import { storeSchema } from './store-schema.ts';
import { upstreamsSchema } from './upstreams-schema.ts';

// The one definition of gateway.yaml: it validates, gives every default, and becomes the JSON Schema that editors use. A
// default is written as the operator would write it (`prefault`), so that it passes through the same parser.

/** The shape of gateway.yaml. What one part says about another is checked apart from it, see cross-checks.ts. */
export const gatewaySchema = z.strictObject({
  listen: listenSchema.prefault({}).describe('Where the gateway listens.'),
  trusted_proxies: z
    .array(network(), { error: 'expected a list of networks such as [10.1.0.0/16]' })
    .prefault([])
    .describe(
      'Networks and addresses of proxies in front whose X-Forwarded-* and X-Request-Id are believed. Nobody else is.',
    ),
  forwarding_headers: forwardingHeadersSchema.describe(
    'Further header fields that only trusted proxies may send; from anyone else they are removed, as X-Forwarded-*, X-Real-IP and their like are. As a map: those to remove, and those to keep, which would be removed.',
  ),
  identity_provider: identityProviderSchema
    .optional()
    .describe(
      'The OpenID Connect provider that issues the tokens and signs users in. Left out, every route has to say "authentication: none".',
    ),
  access_tokens: accessTokensSchema
    .optional()
    .describe('Which access tokens are accepted, and who their senders are. Needed with identity_provider.'),
  upstreams: upstreamsSchema,
  routes: routesSchema,
  cors: corsSchema.describe(
    'Which web pages of other origins may call, from a browser. off: a preflight is an ordinary request.',
  ),
  store: storeSchema.describe(
    'Where limits are counted. memory: in each gateway by itself. A map: in a Redis, for all gateways together. A change waits for a restart.',
  ),
  limits: text('expected none, or the path of a file such as limits.yaml')
    .transform(path => (path === 'none' ? null : path))
    .prefault('none')
    .describe(
      'The file with what operations tunes under load, limits.yaml, or a folder whose *.yaml are read as one; the path is relative to this file. none: the defaults.',
    ),
  timeouts: clientTimeoutsSchema,
  caps: capsSchema,
  http2: http2Schema,
  shutdown: shutdownSchema,
  log: logSchema,
});

export const gatewaySecrecy = secrecyOf(gatewaySchema);

/** gateway.yaml with every default filled in: times in milliseconds, sizes in bytes. */
export type GatewayConfig = z.output<typeof gatewaySchema>;
