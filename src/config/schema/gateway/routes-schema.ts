import { z } from 'zod';

import { ROUTABLE_METHODS } from '../../../routing/index.ts';
import { choice, mapSuchAs, yesOrNo } from '../plain-values.ts';
import { duration, grpcRoute, rateOrOff, routePath, sizeOrNone } from '../scalars.ts';

/** The keys of one route. The cross-checks use them one by one, so that a mistake in one hides none in the others. */
export const routeKeys = {
  path: routePath()
    .optional()
    .describe(
      'Which paths: /v1/things/{id} has a parameter that is one whole segment, /v1/** takes all that follows. The most specific route wins, order means nothing.',
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
    .describe('Which methods; left out: every one. GET takes HEAD along.'),
  upstream: z
    .string({ error: 'expected the name of an upstream' })
    .describe('The upstream that serves it, by name.'),
  authentication: choice(['required', 'optional', 'none'])
    .prefault('required')
    .describe(
      'Who may use it. required: who sends a valid token, anyone else gets 401. optional: everyone; without a valid token the Authorization header is removed. none: everyone; the header is not looked at.',
    ),
  close_at_expiry: yesOrNo()
    .prefault(false)
    .describe(
      'Whether a response that outlives the token of its request is broken off when the token expires.',
    ),
  semicolons: choice(['refuse', 'pass'])
    .prefault('refuse')
    .describe(
      'What becomes of a path with ";" or "%3B": 400, since services disagree about its meaning, or passed on.',
    ),
  webhook: yesOrNo()
    .prefault(false)
    .describe(
      'Whether it serves webhooks, which its parameters name. Who keeps calling one that the upstream answers with 404 is restricted there, see webhook_not_found in limits.yaml.',
    ),
  global_limit: choice(['apply', 'exempt'])
    .prefault('apply')
    .describe('Whether its requests draw on the global limit of their caller, see global in limits.yaml.'),
  upstream_429: choice(['rewrite', 'pass'])
    .prefault('rewrite')
    .describe(
      "What becomes of an upstream's own 429 that clients of this gateway would not understand: rewritten into one that they do, or passed on as it is.",
    ),
  cors: yesOrNo()
    .prefault(true)
    .describe(
      'Whether "cors" holds for it. false: the upstream answers preflights, which reach it without a token, and writes the fields itself.',
    ),
  max_body: sizeOrNone()
    .prefault('none')
    .describe('Largest request body, in chunks with what frames them; beyond it 413. none: no limit.'),
  min_body_rate: rateOrOff()
    .prefault('240B/s')
    .describe(
      'What a request body has to bring on average, from its 30th second on; below it 408. Time in which the upstream takes nothing does not count. off: for slow streams.',
    ),
  timeouts: z
    .strictObject({
      first_byte: duration().optional().describe("In place of the upstream's own first_byte."),
      idle: duration().optional().describe("In place of the upstream's own idle."),
    })
    .prefault({})
    .describe('Where this route needs other times than its upstream.'),
};
const route = z
  .strictObject(routeKeys, mapSuchAs('{ path: /v1/**, upstream: api }'))
  .meta({ oneOf: [holding('path'), holding('grpc')] });

/** `routes` of gateway.yaml. */
export const routesSchema = z
  .array(route, { error: 'expected a list of routes, each of which begins with "- path:"' })
  .describe('Which requests go where. What no route takes is answered 404.');

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
