import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Server as NetServer } from 'node:net';
import type { CapsModel, HostPort, TimeoutsModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import { type Gateway, methodNotSupported, overloaded, versionNotSupported } from '../gateway/index.ts';
import { type AddressSet, normalizeAddress } from '../http/index.ts';
import { Connection } from './connection.ts';
import { ConnectionCaps } from './connection-caps.ts';
import type { ListenerState } from './listener-state.ts';
import { parserError } from './parser-error.ts';

const SWEEP_MS = 500;
/** Where a socket's connection is found again. */
const CONNECTION = Symbol('connection');

interface ServedSocket extends Socket {
  [CONNECTION]?: Connection;
}

export interface HttpListenerOptions extends HttpListenerSettings {
  readonly gateway: Gateway;
  readonly clock: Clock;
}

/** What a reload may change. */
export interface HttpListenerSettings {
  readonly timeouts: TimeoutsModel;
  readonly caps: CapsModel;
  readonly trustedProxies: AddressSet;
}

/** Listens for HTTP/1.1 with Node's parser, the strictest at hand, and hands requests to the gateway. */
export class HttpListener {
  readonly #server: Server;
  readonly #state: ListenerState & { draining: boolean };
  readonly #connections = new Set<Connection>();
  readonly #caps: ConnectionCaps;
  readonly #mostConnections: number;
  #sweeper: NodeJS.Timeout | null = null;

  constructor({ gateway, clock, timeouts, caps, trustedProxies }: HttpListenerOptions) {
    this.#state = { gateway, clock, timeouts, keepAliveHint: hintOf(timeouts), draining: false };
    this.#caps = new ConnectionCaps(caps, trustedProxies);
    this.#mostConnections = caps.connections;
    this.#server = makeServer(timeouts, caps);
    this.#server.on('connection', (socket: ServedSocket) => this.#onConnection(socket));
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response);
    this.#server.on('request', onRequest);
    // The gates decide about expectations, so that no 100 goes to a request that is refused.
    this.#server.on('checkContinue', onRequest);
    this.#server.on('checkExpectation', onRequest);
    this.#server.on('connect', (_request: IncomingMessage, socket: Socket) => this.#onConnect(socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
      this.#onClientError(error, socket),
    );
  }

  /** Timeouts count at once, caps of connections for further ones, the caps of a head for further connections. */
  use({ timeouts, caps, trustedProxies }: HttpListenerSettings): void {
    this.#state.timeouts = timeouts;
    this.#state.keepAliveHint = hintOf(timeouts);
    this.#caps.use(caps, trustedProxies);
    this.#server.headersTimeout = timeouts.clientHeaderMs;
    // Node reads it whenever a connection begins.
    Object.assign(this.#server, { maxHeaderSize: caps.headBytes });
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Resolves with the address that was bound; rejects with Node's error, for example EADDRINUSE. */
  async listen({ host, port }: HostPort): Promise<HostPort> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 4096 }, () => resolve());
    });
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
    const bound = this.#server.address() as AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  /**
   * Accepts no further connection and ends each kept one with its next answer, or when it has been idle for a moment.
   * Resolves when no connection is left.
   */
  async drain(): Promise<void> {
    this.#state.draining = true;
    for (const connection of this.#connections) connection.drain();
    const closed = new Promise<void>(resolve => this.#server.once('close', resolve));
    // Not http.Server's own close(): it cuts idle connections at once, and with them the request that a client may
    // just have sent. Our sweep ends them a moment later.
    NetServer.prototype.close.call(this.#server);
    await closed;
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
  }

  /** Breaks off what is left. */
  destroy(): void {
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.#server.close();
    for (const connection of this.#connections) connection.socket.destroy();
  }

  #onConnection(socket: ServedSocket): void {
    const peer = normalizeAddress(socket.remoteAddress ?? '') ?? '';
    const connection = new Connection(socket, peer, this.#state);
    socket[CONNECTION] = connection;
    this.#connections.add(connection);
    const admitted = this.#caps.take(peer);
    socket.on('close', () => {
      this.#connections.delete(connection);
      if (admitted) this.#caps.giveBack(peer);
    });
    if (admitted) return;
    // A refused connection lingers for a moment. In a flood there are too many for that.
    if (this.#connections.size > 2 * this.#mostConnections) socket.destroy();
    else connection.refuse(overloaded());
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = (request.socket as ServedSocket)[CONNECTION];
    if (connection === undefined) return;
    // Node lets through a request line without a version, which is HTTP/0.9, and one with 2.0.
    if (request.httpVersionMajor === 1) connection.request(request, response);
    else connection.refuse(versionNotSupported());
  }

  #onConnect(socket: ServedSocket): void {
    socket.on('error', () => socket.destroy());
    // Node has let go of the socket, on which the answer before this one may still be under way.
    socket.on('drain', () => socket[CONNECTION]?.drained());
    socket[CONNECTION]?.refuse(methodNotSupported());
  }

  #onClientError(error: NodeJS.ErrnoException, socket: ServedSocket): void {
    const problem = parserError(error);
    if (problem === null || !socket.writable) socket.destroy();
    else socket[CONNECTION]?.refuse(problem);
  }

  #sweep(): void {
    const now = this.#state.clock.monotonicMs();
    for (const connection of this.#connections) connection.sweep(now);
  }
}

function hintOf({ keepAliveMs }: TimeoutsModel): string {
  return `timeout=${Math.floor(keepAliveMs / 1_000)}`;
}

function makeServer(timeouts: TimeoutsModel, caps: CapsModel): Server {
  const server = createServer({
    // No timer per connection: our sweep closes idle ones.
    keepAliveTimeout: 0,
    headersTimeout: timeouts.clientHeaderMs,
    // An upload may take as long as it keeps moving: our sweep watches that.
    requestTimeout: 0,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: caps.headBytes,
    // A request without Host is refused by us, in our words.
    requireHostHeader: false,
    insecureHTTPParser: false,
    optimizeEmptyRequests: true,
    noDelay: true,
  });
  // Node drops the fields past its limit without a word, Content-Length among them; ours refuses.
  server.maxHeadersCount = 0;
  // Otherwise Node closes its side as soon as the client has closed his, and takes the answer from him.
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}
