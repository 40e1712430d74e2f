import { EventEmitter } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { Owner } from '../kernel/timeline.ts';
import { fault, type NetworkHome, type WorldSocket } from './socket.ts';
import type { Wires } from './wires.ts';

export interface ListenPlace {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly reusePort?: boolean | undefined;
}

/** Listens in a world, as a `Server` of Node.js does. */
export class WorldServer extends EventEmitter {
  readonly home: NetworkHome;
  readonly owner: Owner;
  readonly allowHalfOpen: boolean;
  listening = false;
  readonly #wires: Wires;
  #place: ListenPlace | null = null;
  #key = '';
  readonly #connections = new Set<WorldSocket>();
  #whenClosed: (() => void)[] = [];

  constructor(
    wires: Wires,
    home: NetworkHome,
    owner: Owner,
    allowHalfOpen: boolean,
    onSocket: (socket: WorldSocket) => void,
  ) {
    super();
    this.#wires = wires;
    this.home = home;
    this.owner = owner;
    this.allowHalfOpen = allowHalfOpen;
    this.on('connection', onSocket);
  }

  get asServer(): Server {
    return this as unknown as Server;
  }

  listen(where: ListenPlace | string | number, ...more: unknown[]): this {
    const place =
      typeof where === 'string' ? { path: where } : typeof where === 'number' ? { port: where } : where;
    const listening = more.findLast(each => typeof each === 'function');
    if (listening !== undefined) this.once('listening', listening as () => void);
    const { path, port = 0 } = place;
    if (path !== undefined && !path.startsWith('\0') && this.home.disk.inodeOf(path) === undefined)
      this.home.disk.put(path, '');
    const key = path === undefined ? placeKey(this.home.address, port) : pathKey(this.home, path);
    const others = (this.#wires.listeners.get(key) ?? []).filter(({ owner }) => owner.isAlive);
    const mayShare = place.reusePort === true && others.every(other => other.#place?.reusePort === true);
    if (others.length > 0 && !mayShare) {
      process.nextTick(() => this.emit('error', fault('EADDRINUSE', 'listen')));
      return this;
    }
    [this.#place, this.#key] = [place, key];
    this.#wires.listeners.set(key, [...others, this]);
    this.listening = true;
    process.nextTick(() => this.emit('listening'));
    return this;
  }

  address(): AddressInfo | string | null {
    if (this.#place === null) return null;
    const { path, host = '0.0.0.0', port = 0 } = this.#place;
    return path ?? { address: host, port, family: 'IPv4' };
  }

  /** A client's connection has arrived. */
  accept(socket: WorldSocket): void {
    this.#connections.add(socket);
    socket.on('close', () => {
      this.#connections.delete(socket);
      this.#closeIfEmpty();
    });
    this.emit('connection', socket);
    if (!socket.destroyed && !socket.isPaused()) socket.read(0);
  }

  close(closed?: (error?: Error) => void): this {
    if (!this.listening) {
      process.nextTick(() =>
        closed?.(Object.assign(new Error('not running'), { code: 'ERR_SERVER_NOT_RUNNING' })),
      );
      return this;
    }
    if (closed !== undefined) this.#whenClosed.push(closed);
    this.stop();
    this.#closeIfEmpty();
    return this;
  }

  /** Nobody listens there any more. */
  stop(): void {
    if (this.#place === null) return;
    const rest = (this.#wires.listeners.get(this.#key) ?? []).filter(each => each !== this);
    this.#wires.listeners.set(this.#key, rest);
    this.listening = false;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  #closeIfEmpty(): void {
    if (this.listening || this.#connections.size > 0) return;
    const closed = this.#whenClosed;
    this.#whenClosed = [];
    process.nextTick(() => {
      for (const each of closed) each();
      this.emit('close');
    });
  }
}

export function placeKey(address: string, port: number): string {
  return `${address} ${port}`;
}

/** A path is a file, which may be moved, or a name of Linux that is in no folder. */
export function pathKey({ name, disk }: NetworkHome, path: string): string {
  return path.startsWith('\0') ? `${name} ${path}` : `${name} file ${disk.inodeOf(path)}`;
}
