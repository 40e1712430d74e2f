import type { UpstreamOptions } from '../../src/upstream/index.ts';

/** How to reach an upstream on 127.0.0.1. */
export function upstreamAt(port: number, options: Partial<UpstreamOptions> = {}): UpstreamOptions {
  return {
    ...{
      host: '127.0.0.1',
      name: options.host ?? '127.0.0.1',
      port,
      protocol: 'http1',
      ownHosts: false,
      connectTimeoutMs: 60_000,
      keepAliveMs: 60_000,
    },
    ...{ maxAgeMs: 300_000, maxConnections: 1_024, maxHeadBytes: 32_768, tls: null },
    http2: { maxConnections: 16, maxStreams: 100, pingIntervalMs: 300_000, pingTimeoutMs: 10_000 },
    ...options,
  };
}
