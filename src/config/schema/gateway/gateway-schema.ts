import { z } from 'zod';
import { ROUTABLE_METHODS } from '../../../gateway/routing/index.ts';
import {
  policyKeys,
  redirectSchema,
  respondSchema,
  routeUpstreamSchema,
  SERVED_BY,
} from '../../policies/index.ts';
import {
  doorAsWhole,
  grpcRoute,
  mapExpected,
  network,
  routeHosts,
  routePath,
  secrecyOf,
  text,
} from '../../values/index.ts';
import * as caps from './caps-schema.ts';
import { corsSchema, forwardingHeadersSchema } from './forwarding-schema.ts';
import * as identity from './identity-schema.ts';
import { listenSchema } from './listen-schema.ts';
import { logSchema, metricsSchema, tracingSchema } from './observing-schema.ts';
import { stateSchema, storeSchema } from './store-schema.ts';
import { upstreamsSchema } from './upstreams-schema.ts';

// Any page that a visitor opens could act on the visitor's behalf.

/** The keys of one route. The cross-checks use them one by one, so that an error in one does not hide those in the others. */
export const routeKeys = {
  path: routePath()
    .optional()
    .describe(
      'Which paths: {id} in /v1/things/{id} is one whole segment, /v1/** matches everything below. The most specific route wins; order does not matter.',
    ),
  grpc: grpcRoute()
    .optional()
    .describe(
      'Which gRPC calls, in place of a path: package.Service/Method, or package.Service/* for every method that no other route names. Names are case-sensitive.',
    ),
  hosts: routeHosts()
    .optional()
    .describe(
      'Which hosts, before the path: api.example.com, or "*.example.com" for each name of one more label. Left out: the requests that no route with their host takes. Case and port do not matter.',
    ),
  methods: z
    .array(method(), { error: 'expected a list of methods such as [GET, POST]' })
    .min(1, { error: 'an empty list matches no request: leave out "methods" to match every method' })
    .refine(list => new Set(list).size === list.length, { error: 'a method is listed twice' })
    .optional()
    .describe('Which methods; left out: all. GET includes HEAD.'),
  upstream: routeUpstreamSchema
    .optional()
    .describe(
      'The name of the upstream that serves it; or several upstreams with the percentages of callers that each serves, such as { api: 95, api-next: 5 }.',
    ),
  redirect: redirectSchema,
  respond: respondSchema,
  ...policyKeys,
};
const route = z
  .strictObject(routeKeys, mapExpected('{ path: /v1/**, upstream: api }'))
  .meta({ allOf: [oneOf('path', 'grpc'), oneOf(...SERVED_BY)] });

/** `routes` of gateway.yaml. */
const routesSchema = z
  .array(route, { error: 'expected a list of routes, each of which begins with "- path:"' })
  .describe('Which requests go where. A request that no route matches gets 404.');

export type RouteConfig = z.output<typeof route>;

/** The shape of gateway.yaml. cross-checks.ts checks how its parts fit together. */
export const gatewaySchema = z.strictObject({
  listen: listenSchema.prefault({}).describe('Where the gateway listens.'),
  workers: caps.workersSchema,
  trusted_proxies: z
    .union([z.literal('none').transform(() => [] as string[]), z.array(network())], {
      error: 'expected the word none, or a list of networks such as [10.1.0.0/16]',
    })
    .prefault('none')
    .describe(
      'Networks and addresses of the proxies in front of the gateway, or none. Only their X-Forwarded-* and X-Request-Id are trusted.',
    ),
  forwarding_headers: forwardingHeadersSchema.describe(
    'Additional header fields that only trusted proxies may send, like X-Forwarded-* and X-Real-IP; from anyone else they are removed. As a map: fields to remove, and fields to keep that would otherwise be removed.',
  ),
  identity_provider: doorAsWhole(identity.identityProviderSchema)
    .optional()
    .describe(
      'The OpenID Connect provider that issues tokens and signs users in. Without it, every route must say "authentication: none".',
    ),
  access_tokens: doorAsWhole(identity.accessTokensSchema)
    .optional()
    .describe(
      'Which access tokens are accepted, and how they identify callers. Required with identity_provider.',
    ),
  identity_providers: doorAsWhole(identity.identityProvidersSchema)
    .optional()
    .describe(
      'Instead of identity_provider: several providers, each with its name, its audience and the callers it identifies. The same keys as identity_provider otherwise.',
    ),
  sign_in: identity.signInSchema,
  protected_resource: identity.protectedResourceSchema,
  upstreams: upstreamsSchema,
  routes: routesSchema,
  cors: doorAsWhole(corsSchema).describe(
    'Which web pages of other origins may call the gateway from a browser. off: preflights are ordinary requests.',
  ),
  store: storeSchema.describe(
    'Where limits are counted. memory: in each gateway alone. A map: in Redis, for all gateways together. Changes take effect after a restart.',
  ),
  state: stateSchema,
  limits: text('expected the word none, or the path of a file such as limits.yaml')
    .transform(path => (path === 'none' ? null : path))
    .prefault('none')
    .describe(
      'The file with the rate limits, limits.yaml, or a folder whose *.yaml files are read as one; relative to this file. none: the defaults.',
    ),
  timeouts: caps.clientTimeoutsSchema,
  min_read_rate: caps.minReadRateSchema,
  caps: caps.capsSchema,
  http2: caps.http2Schema,
  shutdown: caps.shutdownSchema,
  log: logSchema,
  tracing: tracingSchema,
  metrics: metricsSchema,
});

export const gatewaySecrecy = secrecyOf(gatewaySchema);

/** gateway.yaml with all defaults: times in milliseconds, sizes in bytes. */
export type GatewayConfig = z.output<typeof gatewaySchema>;

/** The JSON Schema of a map with exactly one of these keys. */
function oneOf(...keys: readonly (keyof typeof routeKeys)[]) {
  return { oneOf: keys.map(holding) };
}

/** The JSON Schema of a map with this key. */
function holding(key: keyof typeof routeKeys) {
  return { type: 'object', properties: { [key]: {} }, required: [key] };
}

function method() {
  return z.enum(ROUTABLE_METHODS, {
    error: ({ input }) =>
      input === 'CONNECT' || input === 'TRACE'
        ? `the gateway does not serve ${input}`
        : 'expected a method such as GET or POST, in upper case',
  });
}
