import { isDeepStrictEqual } from 'node:util';
import { ConnectionPool } from './connection-pool.ts';
import { type EndpointSource, FixedEndpoints, type SourcedEndpoint } from './endpoint-source.ts';
import { EndpointTransport, type PoolSystem } from './pool.ts';
import { SessionPool } from './session-pool.ts';
import type { Transport, UpstreamOptions } from './transport.ts';

/** An upstream as the configuration describes it. */
interface ConfiguredUpstream {
  readonly name: string;
  readonly options: UpstreamOptions;
}

/** The transports of one configuration, by the names of their upstreams. */
export type TransportMap = ReadonlyMap<
  string,
  { readonly options: UpstreamOptions; readonly transport: Transport }
>;

/**
 * Keeps transports across reloads. An unchanged upstream keeps its connections; one that was removed, or is reached differently
 * now, finishes what is in flight.
 */
export class Transports {
  readonly #open: (options: UpstreamOptions) => Transport;
  #current: TransportMap = new Map();
  readonly #draining = new Set<{
    readonly name: string;
    readonly transport: Transport;
    readonly gone: Promise<void>;
  }>();

  /** @param open makes a transport; it connects to nothing before its first request */
  constructor(open: (options: UpstreamOptions) => Transport) {
    this.#open = open;
  }

  /** Returns the transports for these upstreams: those in use if they fit, otherwise new ones. Changes nothing yet. */
  plan(upstreams: readonly ConfiguredUpstream[]): TransportMap {
    return new Map(
      upstreams.map(({ name, options }) => {
        const known = this.#current.get(name);
        const fits = known !== undefined && isDeepStrictEqual(known.options, options);
        return [name, fits ? known : { options, transport: this.#open(options) }];
      }),
    );
  }

  /** Takes the planned transports into use and drains the others. */
  use(planned: TransportMap): void {
    for (const [name, { transport }] of this.#current) {
      if (planned.get(name)?.transport !== transport) this.#drain(name, transport);
    }
    this.#current = planned;
  }

  /** The number of connections that are open now, for each upstream in use or draining. */
  get connections(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const add = (name: string, { connections }: Transport) =>
      counts.set(name, (counts.get(name) ?? 0) + connections);
    for (const [name, { transport }] of this.#current) add(name, transport);
    for (const { name, transport } of this.#draining) add(name, transport);
    return counts;
  }

  /** Closes idle connections at once, busy ones after their response. Resolves when all are gone. */
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

/** Opens the transport to an upstream, with a pool for each of its addresses. It does not connect before its first request. */
export function openTransport(options: UpstreamOptions, system: PoolSystem): Transport {
  const { host, port } = options;
  return transportTo(new FixedEndpoints([{ host, port, weight: 1, name: host }]), options, system);
}

function transportTo({ endpoints }: EndpointSource, options: UpstreamOptions, system: PoolSystem): Transport {
  const [first, ...others] = endpoints.map(endpoint => ({
    address: { host: endpoint.host, port: endpoint.port },
    pool: openPool(optionsFor(endpoint, options), system),
  }));
  if (first === undefined) throw new Error('an upstream has no address');
  return new EndpointTransport([first, ...others]);
}

/** Returns the options of the pool of one endpoint. */
function optionsFor({ host, port, name }: SourcedEndpoint, options: UpstreamOptions): UpstreamOptions {
  const { tls } = options;
  return { ...options, host, port, tls: tls && { ...tls, serverName: tls.serverName ?? name } };
}

/** Makes the pool of one address for the protocol of the upstream. */
function openPool(options: UpstreamOptions, system: PoolSystem): Transport {
  return options.protocol === 'http1'
    ? new ConnectionPool(options, system)
    : new SessionPool(options, system);
}
