import type { Snapshot } from '../config/index.ts';
import type { SpanPeer } from '../observe/index.ts';

/** Where each upstream is, for its spans. */
export function spanPeers({ upstreams }: Snapshot): ReadonlyMap<string, SpanPeer> {
  return new Map(upstreams.map(({ name, options }) => [name, { host: options.host, port: options.port }]));
}
