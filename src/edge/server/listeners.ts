import type * as config from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { finishedWithin, NO_METHOD_NAMES, pause } from '../../core/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import { type AddressKeying, type AddressSet, addressKey, ownersOf } from '../../wire/http/index.ts';
import { DateField } from '../../wire/http1/index.ts';
import type { Buffered } from './buffered.ts';
import type { ListenerState } from './client-connection.ts';
import { ConnectionCaps } from './connection-caps.ts';
import { Listener } from './listener.ts';
import type { TicketKeys } from './ticket-keys.ts';
import { Handshakes, TlsTermination } from './tls-termination.ts';
import { Tunnels } from './tunnels.ts';

const SWEEP_MS = 500;
/**
 * How often a thread checks whether all threads together hold too much. Otherwise only another thread may notice, whose own clients
 * all read.
 */
const CHECK_MS = 50;

export interface ListenersOptions
  extends ListenerLimits,
    Pick<core.System, 'clock' | 'random' | 'randomBytes' | 'network'> {
  readonly gateway: Gateway;
  readonly connectionListener: core.ConnectionListener;
  /** Says which addresses count as one. Default: as without limits.yaml. */
  readonly limits?: Pick<config.LimitsModel, 'keying'>;
  /** The threads that serve. Default: this one. */
  readonly workers?: Pick<config.WorkersModel, 'count'>;
  readonly permits: core.NewPermits;
  readonly buffered: Buffered;
  readonly ticketKeys: TicketKeys;
}

export interface ListenerLimits {
  /** The listeners; their addresses stay those of startup. */
  readonly listen: config.ListenModel;
  readonly timeouts: config.TimeoutsModel;
  readonly caps: config.CapsModel;
  readonly http2: config.Http2Model;
  /** The methods that routes name besides those that Node knows. Default: none. */
  readonly namedMethods?: core.MethodNames;
  readonly trustedProxies: AddressSet;
}

/** The bound addresses, with the actual port where the configuration says 0. */
export interface BoundAddresses {
  readonly http: config.HostPort;
  readonly redirect: config.HostPort | null;
  readonly grpc: config.HostPort | null;
}

/** The listeners for clients, under common caps. They pass requests to the gateway. */
export class Listeners {
  readonly #state: ListenerState;
  readonly #caps: ConnectionCaps;
  readonly #handshakes: Handshakes;
  readonly #ticketKeys: TicketKeys;
  readonly #http: Listener;
  readonly #redirect: Listener | null;
  readonly #grpc: Listener | null;
  readonly #all: readonly Listener[];
  readonly #keying: AddressKeying | undefined;
  #sweeper: core.Timer | null = null;
  #checker: core.Timer | null = null;

  constructor(options: ListenersOptions) {
    const { listen, buffered, caps, trustedProxies, limits, ticketKeys, connectionListener } = options;
    const { gateway, clock, random, randomBytes, network } = options;
    this.#keying = limits?.keying;
    this.#useBuffered(buffered, caps, trustedProxies);
    this.#state = {
      gateway,
      clock,
      random,
      randomBytes,
      connectionListener,
      buffered,
      ...changeableState(options),
      date: new DateField(),
      tunnels: new Tunnels(clock, random, options.workers?.count),
      draining: false,
    };
    this.#caps = new ConnectionCaps(caps, trustedProxies, options.permits, limits?.keying);
    this.#handshakes = new Handshakes(caps.tlsHandshakes);
    this.#ticketKeys = ticketKeys;
    const tls = { handshakes: this.#handshakes, events: connectionListener };
    const shared = { network, state: this.#state, caps: this.#caps };
    const open = (listener: config.ListenerModel, name: string, redirects: boolean) =>
      new Listener(listener, {
        ...shared,
        redirects,
        openTls: options =>
          new TlsTermination(options, { ...tls, listener: name, ticketKeys: this.#ticketKeys.current }),
      });
    this.#http = open(listen.http, 'http', false);
    this.#redirect = listen.redirect && open(listen.redirect, 'redirect', true);
    this.#grpc = listen.grpc && open(listen.grpc, 'grpc', false);
    this.#all = [this.#http, this.#redirect, this.#grpc].filter(listener => listener !== null);
  }

  /** Applies a reload: timeouts and the cap of heads at once, the rest to further connections. */
  use(limits: ListenerLimits): void {
    const { listen, caps, trustedProxies } = limits;
    this.#http.use(listen.http);
    // Adding or removing a listener needs a restart.
    if (listen.redirect !== null) this.#redirect?.use(listen.redirect);
    if (listen.grpc !== null) this.#grpc?.use(listen.grpc);
    this.#handshakes.use(caps.tlsHandshakes);
    this.#useBuffered(this.#state.buffered, caps, trustedProxies);
    Object.assign(this.#state, changeableState(limits));
    this.#caps.use(caps, trustedProxies);
  }

  get connections(): number {
    return this.#all.reduce((sum, { connections }) => sum + connections, 0);
  }

  /**
   * Rejects with Node's error, for example EADDRINUSE, when an address cannot be bound.
   *
   * @param shared the addresses to listen at together with other workers. Default: alone, at the configured ones
   */
  async listen(shared?: BoundAddresses): Promise<BoundAddresses> {
    const http = await this.#http.listen(shared?.http);
    const redirect = (await this.#redirect?.listen(shared?.redirect ?? undefined)) ?? null;
    const grpc = (await this.#grpc?.listen(shared?.grpc ?? undefined)) ?? null;
    const { clock } = this.#state;
    this.#sweeper = clock.every(SWEEP_MS, () => this.#sweep());
    if (shared !== undefined) this.#checker = clock.every(CHECK_MS, () => this.#state.buffered.check());
    return { http, redirect, grpc };
  }

  /**
   * Asks all clients to reconnect, spread over `delayMs`: a balancer that knows of the shutdown sends them to other gateways.
   * Then lets requests in flight finish for at most `drainMs`, and aborts the rest. Resolves to false if something was aborted.
   */
  async drain(delayMs: number, drainMs: number): Promise<boolean> {
    const { clock, tunnels } = this.#state;
    const nowMs = clock.monotonicMs();
    tunnels.endBy(nowMs + delayMs + drainMs / 2);
    if (delayMs > 0) {
      for (const listener of this.#all) listener.retireBy(nowMs, nowMs + delayMs);
      await pause(delayMs, clock);
    }
    const inTime = await finishedWithin(drainMs, this.#close(), clock);
    if (!inTime) this.destroy();
    return inTime;
  }

  /** Accepts no further connection and lets requests in flight finish. Resolves when no connection is left. */
  async #close(): Promise<void> {
    this.#state.draining = true;
    await Promise.all(this.#all.map(listener => listener.drain()));
    this.#stopSweeping();
  }

  destroy(): void {
    this.#stopSweeping();
    for (const listener of this.#all) listener.destroy();
  }

  #useBuffered(buffered: Buffered, { bufferedBytes }: config.CapsModel, trusted: AddressSet): void {
    const withOwners = (key: string): core.Owner[] => [{ key, shares: 1 }, ...ownersOf(key)];
    buffered.use({
      capBytes: bufferedBytes,
      ownersOf: address => (trusted.has(address) ? [] : withOwners(addressKey(address, this.#keying))),
    });
  }

  #stopSweeping(): void {
    this.#state.clock.cancel(this.#sweeper);
    this.#state.clock.cancel(this.#checker);
    this.#state.tunnels.stop();
  }

  #sweep(): void {
    const now = this.#state.clock.monotonicMs();
    if (this.#ticketKeys.renew(now)) for (const listener of this.#all) listener.renewTls();
    for (const listener of this.#all) listener.sweep(now);
    this.#state.buffered.sweep(now, this.#state.timeouts.clientReadMs);
  }
}

/** The part of the state that a reload changes for open connections. */
function changeableState({
  timeouts,
  trustedProxies,
  caps,
  http2,
  namedMethods = NO_METHOD_NAMES,
}: ListenerLimits) {
  const { headBytes, fields } = caps;
  const keepAliveHint = `timeout=${Math.floor(timeouts.keepAliveMs / 1_000)}`;
  return { timeouts, trustedProxies, headBytes, fields, http2, namedMethods, keepAliveHint };
}
