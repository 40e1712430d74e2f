import type { Snapshot, UpstreamModel } from '../config/index.ts';
import type { Transport, TransportMap } from '../upstream/index.ts';
import type { Identity } from './identity.ts';

/** One snapshot and the live parts that serve it. Replaced as a whole; an exchange keeps its own to the end. */
export interface Generation {
  readonly snapshot: Snapshot;
  /** Null: no identity provider is configured, and every route says `authentication: none`. */
  readonly identity: Identity | null;
  readonly transports: TransportMap;
}

/** What a request needs of the identity provider. */
export type RequestIdentity = Pick<Identity, 'verifier' | 'signIn' | 'notices' | 'endSession' | 'introspect'>;

/** What a request needs of a generation. */
export interface RequestGeneration extends Omit<Generation, 'identity'> {
  readonly identity: RequestIdentity | null;
}

/** The transport to an upstream of the generation's own snapshot. */
export function transportTo({ transports }: RequestGeneration, { name }: UpstreamModel): Transport {
  const entry = transports.get(name);
  if (entry === undefined) throw new Error(`no transport to the upstream "${name}"`);
  return entry.transport;
}

/** Whether it can identify callers: once it has a key set, or at once if no token is required. */
export function isReady({ identity }: Generation): boolean {
  return identity === null || identity.ready;
}
