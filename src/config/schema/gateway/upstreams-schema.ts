import { z } from 'zod';
import { overridableTimeouts } from '../../policies/index.ts';
import {
  choice,
  count,
  duration,
  KIB,
  MIB,
  mapSuchAs,
  name,
  onlyFor,
  percentage,
  protocolKeysIn,
  shown,
  size,
  upstreamUrl,
} from '../../values/index.ts';
import { upstreamTlsSchema } from './listen-schema.ts';

const timeoutKeys = {
  connect: duration().prefault('2s').describe('For connecting, name resolution and TLS included; then 502.'),
  ...overridableTimeouts,
};

const upstreamKeys = {
  url: upstreamUrl().describe(
    'The address of the service: http://host:port, or https://host:port for TLS. The name is resolved at each connect.',
  ),
  tls: upstreamTlsSchema.prefault({}),
  protocol: choice(['http1', 'h2', 'grpc'])
    .prefault('http1')
    .describe(
      'What it speaks: HTTP/1.1, HTTP/2 (over https:// agreed by ALPN, else by prior knowledge), or gRPC, which HTTP/2 carries.',
    ),
  host: choice(['client', 'upstream'])
    .prefault('client')
    .describe("The Host header it gets: the client's, or the host of its url."),
  authorization: choice(['pass', 'remove'])
    .prefault('pass')
    .describe("Whether it gets the client's Authorization header."),
  h2: onlyFor(
    ['h2', 'grpc'],
    z
      .strictObject({
        max_connections: count(10_000)
          .prefault(16)
          .describe(
            'Connections that take requests at once. Past them a request waits for a stream, as long as for a connect.',
          ),
        max_streams: count(1_000_000)
          .prefault(100)
          .describe('Requests on a connection before another is opened beside it.'),
        ping_interval: duration()
          .prefault('5m')
          .describe(
            'With requests in flight and nothing from the upstream for this long, it is asked whether it is alive. Servers of gRPC take offence at less than 5m.',
          ),
        ping_timeout: duration()
          .prefault('10s')
          .describe('For the reply to that; then the connection is given up.'),
      })
      .prefault({})
      .describe('How its connections are used where it speaks h2 or grpc.'),
  ),
  timeouts: z.strictObject(timeoutKeys).prefault({}).describe('How long to wait for this upstream.'),
  keep_alive: duration()
    .prefault('4s')
    .describe(
      "An idle connection is closed after this time, or 1s before the timeout in the upstream's own Keep-Alive. Set it below the upstream's idle timeout.",
    ),
  max_connection_age: duration()
    .prefault('5m')
    .describe('A connection of this age takes no more requests, so that a changed address is noticed.'),
  max_requests: onlyFor(
    ['http1', 'h2'],
    count(1_000_000)
      .prefault(1024)
      .describe('Maximum number of requests in flight to this upstream; beyond it 503.'),
  ),
  max_requests_per_caller: onlyFor(
    ['http1', 'h2'],
    percentage()
      .prefault('25%')
      .describe(
        'The share of max_requests that one caller, or one address without a token, may hold (at least one request); beyond it 503.',
      ),
  ),
  max_grpc_calls: onlyFor(
    ['grpc'],
    count(1_000_000)
      .prefault(1024)
      .describe(
        'gRPC calls in flight to this upstream, which do not count in max_requests; past them UNAVAILABLE.',
      ),
  ),
  max_grpc_calls_per_caller: onlyFor(
    ['grpc'],
    percentage()
      .prefault('25%')
      .describe(
        'The part of max_grpc_calls that one caller, or one address without a token, may hold, at least one; past it UNAVAILABLE.',
      ),
  ),
  max_websockets: onlyFor(
    ['http1'],
    count(1_000_000)
      .prefault(10_000)
      .describe(
        'WebSockets open to this upstream; past them 503. They do not count as requests once they are open.',
      ),
  ),
  max_websockets_per_caller: onlyFor(
    ['http1'],
    percentage()
      .prefault('10%')
      .describe(
        'The part of max_websockets that one caller, or one address without a token, may hold, at least one; past it 503.',
      ),
  ),
  max_head: size({ min: KIB, max: MIB })
    .prefault('32KiB')
    .describe('Largest header section of a response; beyond it 502.'),
};
const upstream = shown(z.strictObject(upstreamKeys, mapSuchAs('{ url: "http://api.internal:3000" }')));

/** `upstreams` of gateway.yaml. */
export const upstreamsSchema = z
  .record(name(), upstream, mapSuchAs('{ api: { url: "http://api.internal:3000" } }'))
  .describe('The services behind the gateway, by name.');

export type UpstreamConfig = z.output<typeof upstream>;

/** The keys that only some protocols have a use for. */
export const PROTOCOL_KEYS = [
  ...protocolKeysIn(upstreamKeys, []),
  ...protocolKeysIn(timeoutKeys, ['timeouts']),
];
