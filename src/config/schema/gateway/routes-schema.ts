import { z } from 'zod';
import { ROUTABLE_METHODS } from '../../../routing/index.ts';
import {
  choice,
  duration,
  grpcRoute,
  mapSuchAs,
  rateOrOff,
  routePath,
  sizeOrNone,
  yesOrNo,
} from '../../values/index.ts';

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
      'Which gRPC calls, in place of a path: package.Service/Method, or package.Service/* for every method that no other route names. Letter case is significant.',
    ),
  methods: z
    .array(method(), { error: 'expected a list of methods such as [GET, POST]' })
    .min(1, { error: 'an empty list matches no request: leave out "methods" to match every method' })
    .refine(list => new Set(list).size === list.length, { error: 'a method is listed twice' })
    .optional()
    .describe('Which methods; left out: all. GET includes HEAD.'),
  upstream: z
    .string({ error: 'expected the name of an upstream' })
    .describe('The name of the upstream that serves it.'),
  authentication: choice(['required', 'optional', 'none'])
    .prefault('required')
    .describe(
      'Who may use it. required: callers with a valid token, others get 401. optional: everyone; an Authorization header without a valid token is removed. none: everyone; the header is ignored.',
    ),
  close_at_expiry: yesOrNo()
    .prefault(false)
    .describe('Whether a response is cut off when the token of its request expires.'),
  introspection: z
    .union(
      [
        z.boolean(),
        z.strictObject({
          cache: duration({ min: '1s', max: '10m' })
            .prefault('5s')
            .describe('How long an answer of the provider holds for the same token.'),
        }),
      ],
      { error: 'expected true, false, or a map such as { cache: 5s }' },
    )
    .transform(asked => (asked === false ? null : { cacheMs: asked === true ? 5_000 : asked.cache }))
    .prefault(false)
    .describe(
      'Whether the provider is asked if the token is still valid there (RFC 7662): then a token that it has revoked gets 401, and 503 while it cannot be asked. true: at most every 5s for a token.',
    ),
  semicolons: choice(['refuse', 'pass'])
    .prefault('refuse')
    .describe(
      'Whether a path with ";" or "%3B" gets 400, since services disagree about its meaning, or is passed on.',
    ),
  webhook: yesOrNo()
    .prefault(false)
    .describe(
      'Whether its parameters name a webhook. An address that keeps calling a webhook that returns 404 is restricted there, see webhook_not_found in limits.yaml.',
    ),
  websocket: yesOrNo()
    .prefault(false)
    .describe(
      'Whether it serves WebSockets, beside ordinary requests. false: a request for one is answered 501.',
    ),
  global_limit: choice(['apply', 'exempt'])
    .prefault('apply')
    .describe(
      'Whether its requests count against the global limit of their caller, see global in limits.yaml.',
    ),
  upstream_429: choice(['rewrite', 'pass'])
    .prefault('rewrite')
    .describe(
      "Whether an upstream's own 429 in a form that clients of this gateway do not understand is rewritten into one they do, or passed on unchanged.",
    ),
  cors: yesOrNo()
    .prefault(true)
    .describe(
      'Whether "cors" applies to it. false: the upstream answers preflights, which reach it without a token, and writes the fields itself.',
    ),
  max_body: sizeOrNone()
    .prefault('none')
    .describe('Largest request body, chunk framing included; beyond it 413. none: no limit.'),
  min_body_rate: rateOrOff()
    .prefault('240B/s')
    .describe(
      'Minimum average rate of a request body after its first 30 seconds; below it 408. Time during which the upstream reads nothing does not count. off: for slow streams.',
    ),
  timeouts: z
    .strictObject({
      first_byte: duration().optional().describe('Overrides first_byte of the upstream.'),
      idle: duration().optional().describe('Overrides idle of the upstream.'),
      websocket_idle: duration().optional().describe('Overrides websocket_idle of the upstream.'),
    })
    .prefault({})
    .describe('Timeouts that differ from those of the upstream.'),
};
const route = z
  .strictObject(routeKeys, mapSuchAs('{ path: /v1/**, upstream: api }'))
  .meta({ oneOf: [holding('path'), holding('grpc')] });

/** `routes` of gateway.yaml. */
export const routesSchema = z
  .array(route, { error: 'expected a list of routes, each of which begins with "- path:"' })
  .describe('Which requests go where. A request that no route matches gets 404.');

export type RouteConfig = z.output<typeof route>;

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
