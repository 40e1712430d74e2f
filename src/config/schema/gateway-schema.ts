import { z } from 'zod';

import { ROUTABLE_METHODS } from '../../routing/index.ts';
import { corsSchema } from './cors-schema.ts';
import { forwardingHeadersSchema } from './forwarding-schema.ts';
import { accessTokensSchema, identityProviderSchema } from './identity-schema.ts';
import { listenSchema } from './listen-schema.ts';
import { choice, count, mapSuchAs, name, pathOfFile, text, yesOrNo } from './plain-values.ts';
import {
  duration,
  network,
  percentage,
  rateOrOff,
  routePath,
  size,
  sizeOrNone,
  upstreamUrl,
} from './scalars.ts';
import { secrecyOf } from './secrecy.ts';
import { storeSchema } from './store-schema.ts';

// The one definition of gateway.yaml: it validates, gives every default, and becomes the JSON Schema that editors use. A
// default is written as the operator would write it (`prefault`), so that it passes through the same parser.

const KIB = 1024;

const upstreamKeys = {
  url: upstreamUrl().describe(
    'Where the service is: http://host:port. The name is resolved anew at each connect.',
  ),
  host: choice(['client', 'upstream'])
    .prefault('client')
    .describe("The Host header it gets: the client's own, or the host of its url."),
  authorization: choice(['pass', 'remove'])
    .prefault('pass')
    .describe("Whether it gets the client's Authorization header."),
  timeouts: z
    .strictObject({
      connect: duration()
        .prefault('2s')
        .describe('For a connection to be made, name resolution included; then 502.'),
      first_byte: duration()
        .prefault('60s')
        .describe('From the last byte of a request to the first of its response; then 504.'),
      idle: duration()
        .prefault('60s')
        .describe("Between two bytes of a response's body; then the response is broken off."),
    })
    .prefault({})
    .describe('How long to wait for this upstream.'),
  keep_alive: duration()
    .prefault('4s')
    .describe(
      "An idle connection is closed after this, or 1s before the upstream's own Keep-Alive timeout. Keep it below the time after which the upstream closes.",
    ),
  max_connection_age: duration()
    .prefault('5m')
    .describe('A connection of this age takes no further request, so that a changed address is noticed.'),
  max_requests: count(1_000_000)
    .prefault(1024)
    .describe('Requests in flight to this upstream; past them 503.'),
  max_requests_per_caller: percentage()
    .prefault('25%')
    .describe(
      'The part of max_requests that one caller, or one address without a token, may hold, at least one; past it 503.',
    ),
  max_head: size({ least: KIB, most: KIB * KIB, range: 'from 1KiB to 1MiB' })
    .prefault('32KiB')
    .describe('Largest header section of a response; beyond it 502.'),
};
const upstream = z.strictObject(upstreamKeys, mapSuchAs('{ url: "http://api.internal:3000" }'));

/** Parts of the file on their own, so that one can be checked further while another is wrong. */
export const routeKeys = {
  path: routePath().describe(
    'Which paths: /v1/things/{id} has a parameter that is one whole segment, /v1/** takes all that follows. The most specific route wins, order means nothing.',
  ),
  methods: z
    .array(method(), { error: 'expected a list of methods such as [GET, POST]' })
    .min(1, { error: 'an empty list takes no request: leave out "methods" for every method' })
    .refine(list => new Set(list).size === list.length, { error: 'a method is named twice' })
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
const route = z.strictObject(routeKeys, mapSuchAs('{ path: /v1/**, upstream: api }'));

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
  upstreams: z
    .record(name(), upstream, mapSuchAs('{ api: { url: "http://api.internal:3000" } }'))
    .describe('The services behind the gateway, by name.'),
  routes: z
    .array(route, { error: 'expected a list of routes, each of which begins with "- path:"' })
    .describe('Which requests go where. What no route takes is answered 404.'),
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
  timeouts: z
    .strictObject({
      client_header: duration()
        .prefault('10s')
        .describe('For a client to send the head of a request; then 408.'),
      client_body: duration().prefault('30s').describe("Between two bytes of a request's body; then 408."),
      client_read: duration()
        .prefault('60s')
        .describe('For a client to take in what was written to it; then its connection is closed.'),
      keep_alive: duration()
        .prefault('75s')
        .describe(
          'An idle client connection is kept for this long. Clients of rate-limited services pause for up to a minute: keep it at 65s or more.',
        ),
    })
    .prefault({})
    .describe('How long to wait for clients. There is no limit on a whole request.'),
  caps: z
    .strictObject({
      connections: count(1_000_000).prefault(20_000).describe('Client connections at a time.'),
      connections_per_address: count(1_000_000)
        .prefault(1000)
        .describe('Client connections of one address at a time.'),
      requests: count(1_000_000).prefault(10_000).describe('Requests in flight at a time.'),
      requests_per_address: count(1_000_000)
        .prefault(1000)
        .describe('Requests of one client address in flight at a time.'),
      head: size({ least: KIB, most: KIB * KIB, range: 'from 1KiB to 1MiB' })
        .prefault('16KiB')
        .describe('Largest header section of a request; beyond it 431.'),
      fields: count(1000).prefault(200).describe('Most header fields of a request; beyond it 431.'),
      limit_keys: count(10_000_000)
        .prefault(1_000_000)
        .describe(
          'Counters of limits held in memory, at 80 to 90 bytes each; beyond it the least used give way, never an exhausted one. A change waits for a restart.',
        ),
    })
    .prefault({})
    .describe(
      'What one gateway takes on at most. Past a number of connections or requests the response is 503 with Retry-After.',
    ),
  shutdown: z
    .strictObject({
      delay: duration({ least: '0ms' })
        .prefault('0s')
        .describe(
          'After SIGTERM the gateway says that it is not ready, and serves on for this long before it stops listening.',
        ),
      drain: duration({ least: '0ms' })
        .prefault('25s')
        .describe('For requests in flight to finish after that; then they are broken off.'),
    })
    .prefault({})
    .describe('How the gateway stops.'),
  log: z
    .strictObject({
      level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .prefault('info')
        .describe('The least severe lines that are written.'),
      access: yesOrNo().prefault(true).describe('One line for each request.'),
      pseudonym_key_file: pathOfFile()
        .optional()
        .describe(
          'A file with the key of the names by which callers go in the log: at least 32 characters. Relative to this file. Left out: a random key for each process, so that names do not outlive it.',
        ),
    })
    .prefault({})
    .describe('What is written to standard output, as one JSON object a line.'),
});

export const gatewaySecrecy = secrecyOf(gatewaySchema);

/** gateway.yaml with every default filled in: times in milliseconds, sizes in bytes. */
export type GatewayConfig = z.output<typeof gatewaySchema>;
export type UpstreamConfig = z.output<typeof upstream>;
export type RouteConfig = z.output<typeof route>;

/** Parts of the file on their own, so that one can be checked further while another is wrong. */

function method() {
  return z.enum(ROUTABLE_METHODS, {
    error: ({ input }) =>
      input === 'CONNECT' || input === 'TRACE'
        ? `the gateway does not serve ${input}`
        : 'expected a method such as GET or POST, in upper case',
  });
}
