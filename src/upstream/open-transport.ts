import type { Clock, Random } from '../core/index.ts';
import { ConnectionPool } from './http1/index.ts';
import { SessionPool } from './http2/index.ts';
import type { UpstreamOptions } from './options.ts';
import type { Transport } from './transport.ts';

/** Opens the transport for the protocol of the upstream. It does not connect before its first request. */
export function openTransport(options: UpstreamOptions, clock: Clock, random: Random): Transport {
  return options.protocol === 'http1'
    ? new ConnectionPool(options, clock, random)
    : new SessionPool(options, clock, random);
}
