import { z } from 'zod';
import {
  policyKeys,
  redirectSchema,
  respondSchema,
  routeUpstreamSchema,
  SERVED_BY,
} from '../policies/index.ts';
import { METHOD_PATTERN, NO_METHOD, ROUTABLE_METHODS, whyNoMethod } from '../routing/index.ts';
import { eachOnce, grpcRoute, mapOf, oneKeyOf, routeHosts, routePath } from '../values/index.ts';

/** The keys of one route. The cross-checks use them one by one, so that an error in one does not hide those in the others. */
export const routeKeys = {
  path: routePath(true)
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
    .superRefine(eachOnce)
    .optional()
    .describe(
      'Which methods; left out: all that gateways know. GET includes HEAD. Any token may be named but TRACE, CONNECT and PRI: what gateways do not know is served where it is named alone, and 405 elsewhere.',
    ),
  upstream: routeUpstreamSchema
    .optional()
    .describe(
      'The name of the upstream that serves it; or several upstreams with the percentages of callers that each serves, such as { api: 95, api-next: 5 }.',
    ),
  redirect: redirectSchema,
  respond: respondSchema,
  ...policyKeys,
};
export const route = mapOf('{ path: /v1/**, upstream: api }', routeKeys).meta({
  allOf: [oneKeyOf('path', 'grpc'), oneKeyOf(...SERVED_BY)],
});

export type RouteConfig = z.output<typeof route>;

/** A method: one that every gateway knows, or any other token. */
function method() {
  const error = ({ input }: { readonly input?: unknown }) =>
    (typeof input === 'string' ? whyNoMethod(input) : NO_METHOD) ?? undefined;
  const other = z
    .string()
    .regex(METHOD_PATTERN, { error })
    .refine(text => whyNoMethod(text) === null, { error });
  return z.union([z.enum(ROUTABLE_METHODS), other], { error });
}
