import { isIP } from 'node:net';
import {
  isSame,
  type Kept,
  type ProcessPart,
  reuse,
  States,
  socketPath,
  type UpstreamListener,
} from '../core/index.ts';
import { type EndpointsState, EndpointTransport, type Spreading } from './balancing/index.ts';
import { ConnectionPool } from './connection-pool.ts';
import { type EndpointSource, FixedEndpoints } from './endpoint-source.ts';
import type { CheckState } from './health/index.ts';
import { Lookups, NamedEndpoints, serviceHost } from './names/index.ts';
import type { PoolSystem } from './pool.ts';
import { SessionPool } from './session-pool.ts';
import type { ConnectionOptions, EndpointOptions, Transport } from './transport.ts';

/** An upstream as the configuration describes it. */
export interface ConfiguredUpstream extends Spreading {
  readonly name: string;
  readonly options: ConnectionOptions;
  /** Equal for equal addresses, options and checks, so that reloads need not compare these for ten thousand upstreams. */
  readonly revision: string;
}

/** An upstream and its transport, by its revision. */
type OpenUpstream = Kept<
  string,
  { readonly upstream: ConfiguredUpstream; readonly transport: UpstreamTransport }
>;

/** A transport that can take over the addresses of a previous one, if both reach the upstream in the same way. */
interface UpstreamTransport extends Transport {
  /**
   * Sends requests to these addresses from now on. Called once. Addresses that the previous transport also has keep their
   * connections; its others are drained.
   */
  use(spreading: Spreading, before: UpstreamTransport | null): void;
  /** The current state of its addresses, for display. */
  readonly state: EndpointsState;
}

/** The transports of one configuration, by the names of their upstreams. */
export type TransportMap = ReadonlyMap<string, OpenUpstream>;

/**
 * Keeps transports across reloads. An upstream that is reached as before keeps its connections to all addresses that stay. One
 * that was removed, or is now reached in another way, finishes what is in flight.
 */
export class Transports {
  readonly #open: (upstream: ConfiguredUpstream) => UpstreamTransport;
  #current: TransportMap = new Map();
  readonly #draining = new Set<{
    readonly name: string;
    readonly transport: Transport;
    readonly gone: Promise<void>;
  }>();

  /** @param open makes a transport; it neither connects nor looks up names before it is used */
  constructor(open: (upstream: ConfiguredUpstream) => UpstreamTransport) {
    this.#open = open;
  }

  /** Returns the transports for these upstreams: existing ones if nothing changed, otherwise new ones. Changes nothing yet. */
  plan(upstreams: readonly ConfiguredUpstream[]): TransportMap {
    return new Map(
      upstreams.map(upstream => {
        const { name, revision } = upstream;
        const open = () => ({ upstream, transport: this.#open(upstream) });
        return [name, reuse(this.#current.get(name), revision, open)];
      }),
    );
  }

  /** Starts using the planned transports and drains the others, except for addresses that planned ones take over. */
  use(planned: TransportMap): void {
    const before = this.#current;
    this.#current = planned;
    for (const [name, entry] of before) {
      const next = planned.get(name);
      if (next !== entry && !isReachedAs(entry, next)) this.#drain(name, entry.part.transport);
    }
    for (const [name, entry] of planned) {
      const known = before.get(name);
      if (known === entry) continue;
      const predecessor = known !== undefined && isReachedAs(entry, known) ? known.part.transport : null;
      entry.part.transport.use(entry.part.upstream, predecessor);
    }
  }

  /** The number of open connections, for each upstream in use or draining. */
  get connections(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const add = (name: string, { connections }: Transport) =>
      counts.set(name, (counts.get(name) ?? 0) + connections);
    for (const [name, { part }] of this.#current) add(name, part.transport);
    for (const { name, transport } of this.#draining) add(name, transport);
    return counts;
  }

  /** The current state of the addresses of each upstream in use. */
  get states(): ReadonlyMap<string, EndpointsState> {
    return new Map([...this.#current].map(([name, { part }]) => [name, part.transport.state]));
  }

  /** Closes idle connections at once, busy ones after their response. Resolves when all are closed. */
  async close(): Promise<void> {
    this.use(new Map());
    await Promise.all([...this.#draining].map(({ gone }) => gone));
  }

  #drain(name: string, transport: Transport): void {
    const gone = transport.close().then(() => void this.#draining.delete(draining));
    const draining = { name, transport, gone };
    this.#draining.add(draining);
  }
}

/** Whether all connections are made in the same way, so that one transport may take over those of the other. */
function isReachedAs(one: OpenUpstream, other: OpenUpstream | undefined): boolean {
  return other !== undefined && isSame(one.part.upstream.options, other.part.upstream.options);
}

/**
 * Returns a function that opens the transport to an upstream, with a pool for each of its addresses. The transport connects only
 * for its first request.
 */
export function transportOpener(
  part: ProcessPart,
  system: PoolSystem,
  listener: UpstreamListener,
): (upstream: ConfiguredUpstream) => EndpointTransport {
  const { clock, random } = system;
  const checks = new States<CheckState>(part, 'health checks');
  const lookups = new Lookups(part, system);
  const cookieKey = part.memory.secret('balance cookies', 32);
  const openSource = (endpoint: EndpointOptions, upstream: string): EndpointSource => {
    const { host, port } = endpoint;
    if (isIP(host) !== 0 || socketPath(host) !== null)
      return new FixedEndpoints([{ host, port, weight: 1, name: host }]);
    return new NamedEndpoints(() => lookups.ask(endpoint), serviceHost(host), system, {
      failed: cause => listener.lookupFailed(upstream, host, cause),
      works: () => listener.lookupWorks(upstream, host),
      follow: news => lookups.follow(endpoint, news),
    });
  };
  return ({ name, options }) =>
    new EndpointTransport(name, options, {
      clock,
      random,
      listener,
      part,
      checks,
      cookieKey,
      openSource: configured => openSource(configured, name),
      openPool: ({ host, port, name }) => {
        const ofAddress = { ...options, host, port, name };
        return options.protocol === 'http1'
          ? new ConnectionPool(ofAddress, system)
          : new SessionPool(ofAddress, system);
      },
    });
}
