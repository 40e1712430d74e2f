import { z } from 'zod';
import { formatDuration, type PoolModel, type PoolName } from '../../core/index.ts';
import type * as upstream from '../../upstream/index.ts';
import { TokenPlaces } from '../../wire/http/index.ts';
import type { Meaning } from '../values/index.ts';
import {
  choice,
  count,
  countByMemory,
  duration,
  durationOrOff,
  formatSize,
  hostChoice,
  means,
  onlyFor,
  optionalFile,
  percentage,
  section,
  size,
  sizeOrOff,
  word,
  yesOrNo,
} from '../values/index.ts';
import { applyingOf, type DescribedFacts } from './fact.ts';
import { keysOf, type ModelsOf, type PolicyConfig, type PolicyKeys } from './keys.ts';

// The keys of an upstream, except those with its address. Everything about them derives from the list at the end: schema, model,
// and the output of `weir explain` and `weir diff`.

interface UpstreamContext {
  readonly name: string;
  /** The host of its URL, with the port if it is not the default. */
  readonly authority: string;
  /** True if its URLs have different hosts. */
  readonly hasOthers: boolean;
  readonly protocol: upstream.UpstreamProtocol;
  /** The content of `balance.key_file`; `null` if none is named. */
  readonly balanceKey: string | null;
}

/** A setting of upstreams: everything about one key in gateway.yaml, or about a few keys that form one part of the model. */
interface UpstreamSetting<Keys extends PolicyKeys, Model extends object> {
  readonly keys: Keys;
  /** How `weir diff` compares the keys, if a change affects callers. */
  readonly meaning?: Meaning;
  /** Makes a part of the model. Connections are opened with its `options`. */
  compile(config: PolicyConfig<Keys>, context: UpstreamContext): Model;
  describe?(model: NoInfer<Model>): DescribedFacts;
}

function upstreamSetting<Keys extends PolicyKeys, Model extends object>(
  setting: UpstreamSetting<Keys, Model>,
): UpstreamSetting<Keys, Model> {
  const { keys, meaning } = setting;
  if (meaning !== undefined) means(meaning, keys);
  return setting;
}

const host = upstreamSetting({
  keys: {
    host: hostChoice()
      .prefault('client')
      .describe(
        "The Host header it gets: the client's (client), the host of its url (upstream), or this name, such as api.internal.",
      ),
  },
  compile: ({ host }, { authority, hasOthers }) => ({
    /** The `Host` sent to the upstream; `null`: the client's. If each address gets its own, that of the first address. */
    hostHeader: hostFor(host, authority),
    options: { ownHosts: hasOthers && host === 'upstream' },
  }),
  describe: ({ hostHeader }) => ({ Host: hostHeader ?? "the client's own" }),
});

function hostFor(choice: string, authority: string): string | null {
  if (choice === 'client') return null;
  return choice === 'upstream' ? authority : choice;
}

const authorization = upstreamSetting({
  keys: {
    authorization: choice(['pass', 'remove']).describe("Whether it gets the client's Authorization header."),
  },
  compile: ({ authorization }) => ({ passAuthorization: authorization === 'pass' }),
});

const BALANCE_EXPECTED = 'expected "least_requests", "caller" or a map such as { cookie: weir_node }';
const COOKIE_EXPECTED = 'expected a name of letters, digits, "_", "-" and "."';

const balanceCookie = z.strictObject({
  ...onlyFor(['http1', 'h2'], {
    cookie: z
      .string({ error: COOKIE_EXPECTED })
      .regex(/^[A-Za-z0-9_.-]{1,100}$/, { error: COOKIE_EXPECTED })
      .describe('The name of the cookie by which each client stays at one address.'),
  }),
  key_file: optionalFile().describe(
    'A file with the key of its values, at least 32 characters, the same for all gateways. Relative to this file. Left out: a random key per process, so that clients may get another address at each start.',
  ),
});

interface BalanceModel {
  readonly balance: upstream.Balance;
  /** Where clients keep the cookie of `balance`; `null` if there is none. */
  readonly balanceCookie: TokenPlaces | null;
}

const balance = upstreamSetting({
  keys: {
    balance: z
      .union([word(['least_requests', 'caller']), balanceCookie], { error: BALANCE_EXPECTED })
      .prefault('least_requests')
      .describe(
        'Which of several addresses a request goes to. least_requests: of two chosen at random, the one with fewer requests in flight; caller: for each caller the same one, as long as it is healthy; { cookie: weir_node }: for each client with its cookies the same one, as long as it is healthy.',
      ),
  },
  compile({ balance }, { balanceKey: key }): BalanceModel {
    if (typeof balance === 'string') return { balance, balanceCookie: null };
    const { cookie } = balance;
    return {
      balance: { cookie, key },
      balanceCookie: new TokenPlaces([{ kind: 'cookie', name: cookie }]),
    };
  },
});

const http2 = upstreamSetting({
  keys: onlyFor(['h2', 'grpc'], {
    h2: section('Connections to an upstream that speaks h2 or grpc.', {
      max_connections: count(10_000, 16).describe(
        'Maximum number of connections. When all are full, a request waits for a free stream, at most for the connect timeout.',
      ),
      max_streams: count(1_000_000, 100).describe(
        'Requests that one connection carries at a time before another one is opened.',
      ),
      ping_interval: duration({ otherwise: '5m' }).describe(
        'If requests are in flight and the upstream sends nothing for this long, it gets a PING. gRPC servers may close a connection that sends PINGs more often than every 5m.',
      ),
      ping_timeout: duration({ otherwise: '10s' }).describe(
        'How long to wait for the reply to a PING; then the connection is closed.',
      ),
    }),
  }),
  compile: ({ h2 }) => ({
    options: {
      http2: {
        maxConnections: h2.max_connections,
        maxStreams: h2.max_streams,
        pingIntervalMs: h2.ping_interval,
        pingTimeoutMs: h2.ping_timeout,
      },
    },
  }),
});

/** How long routes wait for an upstream. A route may set its own times, with the same keys. */
export const routeTimes = {
  ...onlyFor(['http1', 'h2'], {
    first_byte: duration({ otherwise: '60s' }).describe(
      'Time from the last byte of a request to the first byte of its response; then 504.',
    ),
    idle: duration({ otherwise: '60s' }).describe(
      'Time between two bytes of a response body; then the response is cut off.',
    ),
  }),
  ...onlyFor(['http1'], {
    websocket_idle: duration({ otherwise: '10m' }).describe(
      'Time without traffic on a WebSocket, pings included; then it is closed.',
    ),
  }),
};

/** In milliseconds. */
export type RouteTimes = PolicyConfig<typeof routeTimes>;

const timeouts = upstreamSetting({
  keys: {
    timeouts: section('How long to wait for this upstream.', {
      ...means('maximum', {
        connect: duration({ otherwise: '2s' }).describe(
          'Time to connect, including name resolution and TLS; then 502.',
        ),
      }),
      ...routeTimes,
    }),
  },
  meaning: 'byRoute',
  compile: ({ timeouts: { connect } }) => ({ options: { connectTimeoutMs: connect } }),
});

const connections = upstreamSetting({
  keys: {
    keep_alive: durationOrOff({ otherwise: '4s' }).describe(
      "An idle connection is closed after this time, or 1s before the timeout in the upstream's own Keep-Alive. Set it below the upstream's idle timeout. off: over HTTP/1.1 each connection carries one request.",
    ),
    max_connection_age: duration({ otherwise: '5m' }).describe(
      'After this age a connection gets no more requests, so that replicas behind one address get their share.',
    ),
  },
  compile: ({ keep_alive, max_connection_age }) => ({
    options: { keepAliveMs: keep_alive ?? 0, maxAgeMs: max_connection_age },
  }),
  describe: ({ options }) => ({ connections: options.keepAliveMs === 0 ? 'one for each request' : null }),
});

const pools = upstreamSetting({
  keys: {
    ...onlyFor(['http1', 'h2'], {
      max_requests: countByMemory(
        1_000_000,
        1024,
        'Maximum number of requests in flight to this upstream; beyond it 503.',
      ),
      max_requests_per_caller: percentage('25%').describe(
        'The share of max_requests that one caller, or one address without a token, may hold (at least one request); beyond it 503.',
      ),
    }),
    ...onlyFor(['grpc'], {
      max_grpc_calls: countByMemory(
        1_000_000,
        1024,
        'Maximum number of gRPC calls in flight to this upstream; beyond it UNAVAILABLE. They do not count towards max_requests.',
      ),
      max_grpc_calls_per_caller: percentage('25%').describe(
        'The share of max_grpc_calls that one caller, or one address without a token, may hold (at least one call); beyond it UNAVAILABLE.',
      ),
    }),
    ...onlyFor(['http1'], {
      max_websockets: countByMemory(
        1_000_000,
        10_000,
        'Maximum number of open WebSockets to this upstream; beyond it 503. An open WebSocket does not count towards max_requests.',
      ),
      max_websockets_per_caller: percentage('10%').describe(
        'The share of max_websockets that one caller, or one address without a token, may hold (at least one); beyond it 503.',
      ),
    }),
  },
  meaning: 'maximum',
  compile: (config, { name: upstream }) => ({
    options: { maxConnections: config.max_requests },
    pools: {
      requests: poolOf('requests', upstream, config.max_requests, config.max_requests_per_caller),
      grpc_calls: poolOf('grpc_calls', upstream, config.max_grpc_calls, config.max_grpc_calls_per_caller),
      websockets: poolOf('websockets', upstream, config.max_websockets, config.max_websockets_per_caller),
    } satisfies Record<PoolName, PoolModel>,
  }),
});

function poolOf(name: PoolName, upstream: string, max: number, percentPerCaller: number): PoolModel {
  // Round up to one: with zero, no caller could use the upstream.
  return { name, upstream, max, maxPerCaller: Math.max(1, Math.floor((max * percentPerCaller) / 100)) };
}

const responseHeads = upstreamSetting({
  keys: {
    max_head: size({ min: '1KiB', max: '1MiB', otherwise: '32KiB' }).describe(
      'Largest header section of a response; beyond it 502.',
    ),
  },
  meaning: 'maximum',
  compile: ({ max_head }) => ({ options: { maxHeadBytes: max_head } }),
});

interface ReplayModel {
  /** Maximum length of a body that is kept to be sent again; 0 if none is kept. */
  readonly replayBytes: number;
}

const REPLAY_BYTES = 16_384;

const replay = upstreamSetting({
  keys: {
    replay: sizeOrOff({ min: '1B', max: '64KiB', otherwise: formatSize(REPLAY_BYTES) }).describe(
      'Request bodies up to this size are kept until the response begins (counted in caps.buffered), so that a request that its service has certainly not processed can be sent again, whatever its method. off: none is.',
    ),
  },
  compile: ({ replay }): ReplayModel => ({ replayBytes: replay }),
  describe: ({ replayBytes: max }) => ({
    'sent again':
      max === REPLAY_BYTES
        ? null
        : `what the service has certainly not processed, ${max === 0 ? 'without a body' : `with a body of up to ${formatSize(max)}`}`,
  }),
});

const bufferBody = upstreamSetting({
  keys: onlyFor(['http1', 'h2'], {
    buffer_body: sizeOrOff({ min: '1B', max: '64MiB', otherwise: 'off' }).describe(
      'Request bodies up to this size are read whole, in at most 60s, before a connection is taken, so that slow clients take no time of a service with few workers. Longer ones are streamed, and all are where caps.buffered is full. off: none is kept.',
    ),
  }),
  compile: ({ buffer_body }): { readonly bufferBytes: number } => ({ bufferBytes: buffer_body }),
  describe: ({ bufferBytes: max }) => ({
    'request body': max === 0 ? null : `read whole up to ${formatSize(max)} before the service is asked`,
  }),
});

const lenient = upstreamSetting({
  keys: onlyFor(['http1'], {
    lenient: yesOrNo(false).describe(
      'Whether its responses may have line ends without CR, blanks after chunk sizes, zeros before a length, and a Content-Length or Transfer-Encoding that is said twice alike. false: 502.',
    ),
  }),
  compile: ({ lenient }): { readonly options: Pick<upstream.ConnectionOptions, 'lenient'> } => ({
    options: lenient ? { lenient } : {},
  }),
  describe: ({ options }: { readonly options: Pick<upstream.ConnectionOptions, 'lenient'> }) => ({
    responses: options.lenient === true ? 'read leniently: line ends without CR and the like' : null,
  }),
});

const PATH_EXPECTED = 'expected a path such as /healthz';
const SERVICE_EXPECTED = 'expected the full name of a service of gRPC such as orders.v1.Orders';

const health = upstreamSetting({
  keys: {
    health: z
      .strictObject({
        ...onlyFor(['http1', 'h2'], {
          path: z
            .string({ error: PATH_EXPECTED })
            .regex(/^\/[!"$-~]*$/, { error: PATH_EXPECTED })
            .max(1_000)
            .optional()
            .describe(
              'The path that is requested with GET: an answer with 2xx is healthy. Redirects are not followed.',
            ),
        }),
        ...onlyFor(['grpc'], {
          service: z
            .string({ error: SERVICE_EXPECTED })
            .regex(/^[A-Za-z_][A-Za-z0-9_.]{0,99}$/, { error: SERVICE_EXPECTED })
            .optional()
            .describe(
              'The service whose health grpc.health.v1 is asked for. Left out: that of the whole server.',
            ),
        }),
        every: duration({ min: '100ms', max: '1h', otherwise: '5s' }).describe(
          'The time from one check of an endpoint to the next.',
        ),
        timeout: duration({ max: '1h', otherwise: '2s' }).describe(
          'The time limit of a check, connecting included; less than every.',
        ),
        healthy: count(100, 2).describe(
          'Successful checks in a row after which a failed endpoint is used again.',
        ),
        unhealthy: count(100, 3).describe('Failed checks in a row after which an endpoint is not used.'),
      })
      .optional()
      .describe(
        'Checks each address regularly, and sends requests only to healthy ones, or to all if none is. Left out: no checks.',
      ),
  },
  compile: ({ health }, { authority, protocol }): { readonly health: upstream.HealthOptions | null } => ({
    health:
      health === undefined
        ? null
        : {
            target:
              protocol === 'grpc'
                ? { kind: 'service', service: health.service ?? '' }
                : { kind: 'path', path: health.path ?? '/' },
            host: authority,
            everyMs: health.every,
            timeoutMs: health.timeout,
            healthyAfter: health.healthy,
            unhealthyAfter: health.unhealthy,
          },
  }),
  describe: ({ health }) => ({ health: health && describeHealth(health) }),
});

function describeHealth({ target, everyMs }: upstream.HealthOptions): string {
  const asked =
    target.kind === 'path'
      ? `GET ${target.path}`
      : `grpc.health.v1${target.service === '' ? '' : ` for ${target.service}`}`;
  return `each address is asked ${asked} every ${formatDuration(everyMs)}`;
}

/** Every setting, in the order of the keys in the JSON Schema and in the effective configuration. */
const SETTINGS = [
  balance,
  health,
  host,
  authorization,
  http2,
  timeouts,
  connections,
  replay,
  bufferBody,
  pools,
  responseHeads,
  lenient,
] as const;

type Setting = (typeof SETTINGS)[number];

type SettingModels = ModelsOf<Setting>;

/** A named service behind the gateway. */
export interface UpstreamModel extends SettingModels {
  readonly name: string;
  readonly protocol: upstream.UpstreamProtocol;
  /** The path of its URL, which goes before every path sent to it: canonical, without a trailing slash; '' for none. */
  readonly base: string;
  /** Its configured addresses: at least one. */
  readonly endpoints: readonly upstream.EndpointOptions[];
  readonly options: upstream.ConnectionOptions;
  /** Equal for equal addresses, options and checks: with the same revision, a reload keeps its connections as they are. */
  readonly revision: string;
}

export const upstreamSettingKeys = keysOf(SETTINGS);

export function compileUpstreamSettings(
  config: PolicyConfig<typeof upstreamSettingKeys>,
  context: UpstreamContext,
): SettingModels {
  const parts = SETTINGS.map((setting: Setting) => setting.compile(config, context));
  const options = parts.map(part => ('options' in part ? part.options : {}));
  return Object.assign({}, ...parts, { options: Object.assign({}, ...options) });
}

export function describeUpstreamSettings(upstream: UpstreamModel) {
  return applyingOf(SETTINGS.map((setting: Setting) => setting.describe?.(upstream)));
}
