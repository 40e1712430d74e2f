import type { AddressInfo, Server, Socket } from 'node:net';
import type { HostPort, ListenerModel } from '../../config/index.ts';
import {
  inNextTurn,
  type Kept,
  listenAtSocket,
  listenPlace,
  type Network,
  reuse,
  socketPath,
  UNIX_PEER,
} from '../../core/index.ts';
import { errors } from '../../gateway/index.ts';
import { normalizeAddress } from '../../wire/http/index.ts';
import type { TlsOptions } from '../../wire/tls/index.ts';
import { Accepted, type ListenerState, oldAtMs } from './client-connection.ts';
import type { ConnectionCaps } from './connection-caps.ts';
import { openFirstStage, type StageTerms } from './stages.ts';
import type { TlsTermination } from './tls-termination.ts';

/**
 * Maximum connections waiting to be accepted; the kernel drops further ones, and the clients try again. In a longer queue,
 * clients under overload would give up before they are accepted: docs/decisions/005-accept-queue.md.
 */
const BACKLOG = 511;

export interface ListenerDependencies {
  readonly network: Network;
  readonly state: ListenerState;
  readonly caps: ConnectionCaps;
  /** True if it only redirects clients to https. */
  readonly redirects: boolean;
  readonly openTls: (options: TlsOptions) => TlsTermination;
}

/** Listens at one address, accepts sockets and keeps them. */
export class Listener {
  readonly #server: Server;
  readonly #address: HostPort;
  #terms: StageTerms;
  readonly #openTls: (options: TlsOptions | null) => TlsTermination | null;
  #tls: Kept<TlsOptions | null, TlsTermination | null>;
  readonly #redirects: boolean;
  readonly #caps: ConnectionCaps;
  readonly #connections = new Set<Accepted>();
  #draining = false;

  constructor(listener: ListenerModel, { network, state, caps, redirects, openTls }: ListenerDependencies) {
    this.#address = listener.address;
    this.#openTls = options => options && openTls(options);
    this.#tls = reuse(null, listener.tls, this.#openTls);
    this.#redirects = redirects;
    this.#terms = {
      listener,
      state,
      tls: this.#tls.part,
      recount: (accepted, address) => this.#recount(accepted, address),
    };
    this.#caps = caps;
    // Without allowHalfOpen, Node closes our side as soon as the client closes its own, and the response is lost.
    this.#server = network.createServer({ allowHalfOpen: true, noDelay: true }, socket =>
      this.#onSocket(socket),
    );
  }

  /** Applies a reload to further connections. The address stays. */
  use(listener: ListenerModel): void {
    this.#tls = reuse(this.#tls, listener.tls, this.#openTls);
    this.#terms = { ...this.#terms, listener, tls: this.#tls.part };
  }

  /** Creates a new TLS server for further connections. */
  renewTls(): void {
    this.#tls = reuse(null, this.#tls.key, this.#openTls);
    this.#terms = { ...this.#terms, tls: this.#tls.part };
  }

  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Resolves with the address that was bound; rejects with Node's error, for example EADDRINUSE.
   *
   * @param shared the address to listen at together with other workers. Default: alone, at the configured one
   */
  async listen(shared?: HostPort): Promise<HostPort> {
    const path = socketPath(this.#address.host);
    if (path !== null) return this.#listenAtSocket(path);
    const place = listenPlace(shared ?? this.#address);
    const reusePort = shared !== undefined;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ ...place, backlog: BACKLOG, reusePort }, () => resolve());
    });
    // An error now means that one connection could not be accepted, which must not end the process.
    this.#server.on('error', () => {});
    const bound = this.#server.address() as AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  async #listenAtSocket(path: string): Promise<HostPort> {
    await listenAtSocket(this.#server, path, BACKLOG);
    this.#server.on('error', () => {});
    return this.#address;
  }

  sweep(nowMs: number): void {
    for (const connection of this.#connections) connection.sweep(nowMs);
  }

  /** Retires the open connections, each at some time until then, so that clients do not all reconnect at once. */
  retireBy(nowMs: number, byMs: number): void {
    const { random } = this.#terms.state;
    for (const connection of this.#connections) connection.retireBy(nowMs + (byMs - nowMs) * random());
  }

  /**
   * Accepts no further connection, and closes each open one after its next response or when it has been idle for a moment.
   * Resolves when none is left.
   */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const connection of this.#connections) connection.drain();
    await socketsWereRead();
    // Idle connections stay for a moment, since a client may just have sent a request on one. The sweep closes them.
    await new Promise<void>(resolve => this.#server.close(() => resolve()));
  }

  destroy(): void {
    this.#server.close();
    for (const connection of this.#connections) connection.socket.destroy();
  }

  #onSocket(socket: Socket): void {
    const peer = this.#peerOf(socket);
    if (peer === null) {
      socket.destroy();
      return;
    }
    const { clock, random, timeouts } = this.#terms.state;
    const retiresAtMs = oldAtMs(clock.monotonicMs(), timeouts.maxConnectionAgeMs, random());
    const connection = new Accepted(socket, peer, retiresAtMs);
    const client = {
      peer,
      mayForward: true,
      scheme: 'http',
      redirects: this.#redirects,
      certificate: null,
    } as const;
    connection.become(openFirstStage(connection, client, this.#terms));
    this.#connections.add(connection);
    if (this.#draining) connection.drain();
    const cap = this.#caps.take(peer);
    const lingers = cap !== null && this.#caps.linger();
    socket.on('close', () => {
      this.#connections.delete(connection);
      if (cap === null) this.#caps.giveBack(connection.countedAs);
      if (lingers) this.#caps.lingered();
    });
    // A refused connection lingers for a moment, unless a flood brings too many.
    if (lingers) connection.refuse(errors.overloaded(cap));
    else if (cap !== null) socket.destroy();
  }

  /**
   * Returns the address of a peer; null if it reset the connection before this was accepted: the kernel then no longer knows its
   * address.
   */
  #peerOf({ remoteAddress }: Socket): string | null {
    if (socketPath(this.#address.host) !== null) return UNIX_PEER;
    return remoteAddress === undefined ? null : (normalizeAddress(remoteAddress) ?? '');
  }

  #recount(connection: Accepted, address: string): void {
    const cap = this.#caps.move(connection.countedAs, address);
    if (cap === null) connection.countedAs = address;
    else connection.refuse(errors.overloaded(cap));
  }
}

/**
 * Resolves right after the event loop has read its sockets. Connections that clients opened before are then accepted; if the
 * listener closed first, the kernel would reset them.
 */
function socketsWereRead(): Promise<void> {
  return new Promise(resolve => {
    inNextTurn(resolve);
  });
}
