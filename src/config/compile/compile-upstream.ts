import type { PoolName } from '../../core/index.ts';
import type { UpstreamTls } from '../../upstream/index.ts';
import { formatHostPort, type PoolModel, type UpstreamModel } from '../model/index.ts';
import type { UpstreamConfig } from '../schema/index.ts';
import type { TlsFiles } from './secret-files.ts';

/**
 * Compiles an upstream.
 *
 * @param files what it names under `tls`
 */
export function compileUpstream(
  name: string,
  config: UpstreamConfig,
  files: TlsFiles | undefined,
): UpstreamModel {
  const { host, port, tls } = config.url;
  // Leaves out the default port, as a client with this URL would (RFC 9110, 4.2.1 and 7.2).
  const authority = formatHostPort(config.url).replace(tls ? /:443$/ : /:80$/, '');
  return {
    name,
    protocol: config.protocol,
    options: {
      host,
      port,
      tls: tls ? compileUpstreamTls(config.tls, files) : null,
      protocol: config.protocol,
      http2: {
        maxConnections: config.h2.max_connections,
        maxStreams: config.h2.max_streams,
        pingIntervalMs: config.h2.ping_interval,
        pingTimeoutMs: config.h2.ping_timeout,
      },
      connectTimeoutMs: config.timeouts.connect,
      keepAliveMs: config.keep_alive,
      maxAgeMs: config.max_connection_age,
      maxConnections: config.max_requests,
      maxHeadBytes: config.max_head,
    },
    hostHeader: config.host === 'upstream' ? authority : null,
    passAuthorization: config.authorization === 'pass',
    pools: {
      requests: compilePool('requests', name, config.max_requests, config.max_requests_per_caller),
      grpc_calls: compilePool('grpc_calls', name, config.max_grpc_calls, config.max_grpc_calls_per_caller),
      websockets: compilePool('websockets', name, config.max_websockets, config.max_websockets_per_caller),
    },
  };
}

function compileUpstreamTls(
  { server_name, verify }: UpstreamConfig['tls'],
  files: TlsFiles | undefined,
): UpstreamTls {
  return {
    serverName: server_name ?? null,
    ca: files?.ca ?? null,
    certificate: files?.certificate ?? null,
    key: files?.key ?? null,
    verify,
  };
}

function compilePool(name: PoolName, upstream: string, max: number, percentPerCaller: number): PoolModel {
  return { name, upstream, max, maxPerCaller: partOf(max, percentPerCaller) };
}

/** Returns at least one, or no caller could use the upstream. */
function partOf(count: number, percent: number): number {
  return Math.max(1, Math.floor((count * percent) / 100));
}
