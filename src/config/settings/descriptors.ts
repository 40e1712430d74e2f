// How many file descriptors clients may take, and what is kept back from them: without one, nothing can be opened any more, not even
// a connection to the admin listener.

/** What one process holds with nothing to do (26 were counted) and keeps back for the admin listener, providers, Redis and files. */
const PROCESS_DESCRIPTORS = 96;
/** What each worker adds: its event loop and its listeners (7 were counted), and its connections to Redis. */
const WORKER_DESCRIPTORS = 12;

/** A connection that is refused holds a descriptor until its client has read the answer: this part of what clients may take. */
const REFUSED_PART = 1 / 10;

export interface DescriptorsModel {
  /** What the system allows the process; `null` without a limit that is known. */
  readonly limit: number | null;
  /** What the process takes with all caps full: one a connection, and one a request or WebSocket that goes to a service. */
  readonly needed: number;
  /** What is kept back from clients. */
  readonly kept: number;
  /** The caps that hold: as written, or fewer where the limit allows fewer. */
  readonly connections: number;
  readonly requests: number;
  /** Connections that may be refused at a time, in addition to those. */
  readonly refusedConnections: number;
}

/**
 * Fits caps into a limit. Of what is not kept back, connections to services get as many as there may be requests and WebSockets,
 * at most half: a connection of HTTP/1.1 takes one at a time.
 */
export function fitDescriptors(
  { connections, requests, webSockets }: Readonly<Record<'connections' | 'requests' | 'webSockets', number>>,
  workers: number,
  limit: number,
): DescriptorsModel {
  const kept = PROCESS_DESCRIPTORS + workers * WORKER_DESCRIPTORS;
  const forClients = Math.max(0, limit - kept);
  const refused = Math.min(connections, Math.floor(forClients * REFUSED_PART));
  const served = forClients - refused;
  const toServices = requests + webSockets;
  const fitting = Math.min(connections, Math.max(1, Math.floor(served / 2), served - toServices));
  return {
    limit: Number.isFinite(limit) ? limit : null,
    needed: kept + refused + connections + toServices,
    kept,
    connections: fitting,
    requests: Math.min(requests, Math.max(1, served - fitting)),
    refusedConnections: Math.min(fitting, Math.max(1, refused)),
  };
}

/** Whether the system allows fewer than the caps let clients take. */
export function exceedsDescriptors({ limit, needed }: DescriptorsModel): boolean {
  return limit !== null && needed > limit;
}

/** `30212 of 20000`, with the caps that hold if that is too much. */
export function descriptorsInWords(descriptors: DescriptorsModel): string {
  const { limit, needed, connections, requests } = descriptors;
  const held = exceedsDescriptors(descriptors)
    ? `, so at most ${connections} connections and ${requests} requests at a time`
    : '';
  return `${needed} of ${limit ?? 'any number'}${held}`;
}
