import { formatHostPort, type Snapshot } from '../config/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { Recent } from '../observe/index.ts';
import type { UpstreamStatus } from './status.ts';

/** Where upstreams are known. */
export interface UpstreamSources {
  readonly gateway: Pick<Gateway, 'inFlightTo'>;
  upstreamConnections(): ReadonlyMap<string, number>;
}

/** Those of the snapshot, and removed ones whose connections still drain. */
export function gatherUpstreams(
  { gateway, upstreamConnections }: UpstreamSources,
  snapshot: Snapshot,
  { errors }: Recent,
): UpstreamStatus[] {
  const connections = upstreamConnections();
  const known = new Map(snapshot.upstreams.map(({ name, options }) => [name, formatHostPort(options)]));
  const draining = [...connections].filter(([name, open]) => open > 0 && !known.has(name));
  return [...known, ...draining.map(([name]) => [name, 'draining'] as const)].map(([name, address]) => ({
    name,
    address,
    connections: connections.get(name) ?? 0,
    requestsInFlight: gateway.inFlightTo(name, 'requests'),
    errors: withoutKind(errors.ofUpstream(name)),
  }));
}

function withoutKind(error: ReturnType<Recent['errors']['ofUpstream']>): UpstreamStatus['errors'] {
  if (error === null) return null;
  const { kind, ...rest } = error;
  return rest;
}
