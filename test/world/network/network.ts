import { createServer as createHttpServer } from 'node:http';
import type { IpcNetConnectOpts, LookupFunction, NetConnectOpts, TcpNetConnectOpts } from 'node:net';
import type { Network } from '../../../src/core/index.ts';
import type { Draws } from '../kernel/draws.ts';
import type { Owner } from '../kernel/timeline.ts';
import { pathKey, placeKey, WorldServer } from './server.ts';
import { fault, type NetworkHome, WorldSocket } from './socket.ts';
import type { Wires } from './wires.ts';

/** How much both systems of a connection hold, in bytes. */
const ROOMS = [4_096, 65_536, 262_144] as const;

/** The network as one process sees it. */
export class WorldNetwork {
  readonly #wires: Wires;
  readonly #home: NetworkHome;
  readonly #owner: Owner;
  readonly #draws: Draws;
  #connections = 0;
  #nextPort = 40_000;

  constructor(wires: Wires, home: NetworkHome, owner: Owner, draws: Draws) {
    this.#wires = wires;
    this.#home = home;
    this.#owner = owner;
    this.#draws = draws;
  }

  get asNetwork(): Network {
    const outside = (what: string) => (): never => {
      throw new Error(`${what} is outside this world`);
    };
    return {
      connect: options => this.connect(options).asSocket,
      secureConnect: outside('TLS'),
      lookup: this.#lookup,
      createResolver: outside('DNS'),
      createServer: ({ allowHalfOpen = false }, onSocket) =>
        this.#server(allowHalfOpen, socket => onSocket(socket.asSocket)).asServer,
      createHttpServer: onRequest => {
        const http = createHttpServer(onRequest);
        const server = this.#server(true, socket => http.emit('connection', socket));
        // Node's own server parses and answers. It is not told that it listens: it would look after its connections by real time.
        return Object.assign(http, {
          listen: (...given: Parameters<WorldServer['listen']>) => {
            server.listen(...given);
            server.on('error', error => http.emit('error', error));
            return http;
          },
          address: () => server.address(),
          close: (closed?: () => void) => {
            http.closeIdleConnections();
            server.close(closed);
            return http;
          },
        });
      },
    };
  }

  connect(options: NetConnectOpts): WorldSocket {
    const { kernel, weather } = this.#wires;
    const number = ++this.#connections;
    const socket = new WorldSocket(this.#wires, {
      host: this.#home,
      owner: this.#owner,
      draws: this.#draws.part(`connection ${number}`),
      allowHalfOpen: 'allowHalfOpen' in options && options.allowHalfOpen === true,
      onread: options.onread,
    });
    socket.connecting = true;
    const { path, host = 'localhost', port } = options as Partial<IpcNetConnectOpts & TcpNetConnectOpts>;
    if (typeof path === 'string') {
      const isThere = path.startsWith('\0') || this.#home.disk.inodeOf(path) !== undefined;
      const otherwise = isThere ? 'ECONNREFUSED' : 'ENOENT';
      kernel.after(0, this.#owner, () => this.#open(socket, pathKey(this.#home, path), otherwise));
      return socket;
    }
    if (port === undefined) throw new Error('a connection needs a port or a path');
    this.#find(host, (error, address) => {
      if (socket.destroyed) return;
      if (error !== null) {
        socket.destroy(error);
        return;
      }
      Object.assign(socket, {
        ...{ remoteAddress: address, remotePort: port },
        ...{ localAddress: this.#home.address, localPort: this.#nextPort++ },
      });
      const there = this.#wires.hosts.get(address) ?? address;
      const atMs = weather.arrival(kernel.timeline.nowMs, this.#home.name, there, socket.draws);
      kernel.timeline.at(atMs, this.#wires.everyone, () => {
        if (!socket.isOpen) return;
        if (weather.refuses(kernel.timeline.nowMs, this.#home.name, there))
          this.#refuse(socket, 'ECONNREFUSED');
        else this.#open(socket, placeKey(address, port), 'ECONNREFUSED');
      });
    });
    return socket;
  }

  /** The connection arrives where it leads to. */
  #open(socket: WorldSocket, place: string, otherwise: string): void {
    const { kernel, weather } = this.#wires;
    const servers = (this.#wires.listeners.get(place) ?? []).filter(({ owner }) => owner.isAlive);
    const server = servers[socket.draws.whole(0, Math.max(0, servers.length - 1))];
    if (server === undefined) {
      this.#refuse(socket, otherwise);
      return;
    }
    const accepted = new WorldSocket(this.#wires, {
      host: server.home,
      owner: server.owner,
      draws: socket.draws.part('accepted'),
      allowHalfOpen: server.allowHalfOpen,
    });
    Object.assign(accepted, {
      ...{ remoteAddress: socket.localAddress, remotePort: socket.localPort },
      ...{ localAddress: socket.remoteAddress, localPort: socket.remotePort, isServer: true },
    });
    WorldSocket.join(socket, accepted, socket.draws.one(ROOMS));
    const atMs = weather.arrival(kernel.timeline.nowMs, server.home.name, this.#home.name, socket.draws);
    kernel.timeline.at(atMs, this.#owner, () => {
      if (!socket.destroyed) socket.established();
    });
    kernel.current = server.owner;
    server.accept(accepted);
  }

  #refuse(socket: WorldSocket, code: string): void {
    const { kernel, weather } = this.#wires;
    const atMs = weather.arrival(kernel.timeline.nowMs, this.#home.name, this.#home.name, socket.draws);
    kernel.timeline.at(atMs, this.#owner, () => {
      socket.connecting = false;
      if (!socket.destroyed) socket.destroy(fault(code, 'connect'));
    });
  }

  #server(allowHalfOpen: boolean, onSocket: (socket: WorldSocket) => void): WorldServer {
    return new WorldServer(this.#wires, this.#home, this.#owner, allowHalfOpen, onSocket);
  }

  #find(name: string, found: (error: Error | null, address: string) => void): void {
    const known = /^[\d.]+$/.test(name) ? [name] : this.#wires.names.get(name);
    const [address] = known ?? [];
    if (address === undefined) {
      this.#wires.kernel.after(1, this.#owner, () => found(fault('ENOTFOUND', 'getaddrinfo'), ''));
    } else if (address === name) found(null, address);
    else this.#wires.kernel.after(1, this.#owner, () => found(null, address));
  }

  readonly #lookup: LookupFunction = (name, options, found) => {
    this.#find(name, (error, address) => {
      if (error !== null) found(error, '');
      else if (options.all === true) found(null, [{ address, family: 4 }]);
      else found(null, address, 4);
    });
  };
}
