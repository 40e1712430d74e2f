import type { Kernel } from '../kernel/kernel.ts';
import { EVERYONE, type Owner } from '../kernel/timeline.ts';
import type { WorldNetwork } from './network.ts';
import type { WorldServer } from './server.ts';
import type { WorldSocket } from './socket.ts';
import { Weather } from './weather.ts';

/** The network that all hosts are on. */
export class Wires {
  readonly kernel: Kernel;
  readonly weather = new Weather();
  readonly everyone = EVERYONE;
  /** Who listens, by address and port, or by host and path. Workers may share a place. */
  readonly listeners = new Map<string, WorldServer[]>();
  readonly sockets = new Set<WorldSocket>();
  /** Sockets of dead processes. */
  readonly abandoned: WorldSocket[] = [];
  /** What each process has of the network. */
  readonly networks = new WeakMap<Owner, WorldNetwork>();
  /** Addresses by name. */
  readonly names = new Map<string, readonly string[]>();
  /** The name of each host, by address. */
  readonly hosts = new Map<string, string>();

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  /** The world is over: closes what dead processes had open, which Node's own parsers would keep in memory. */
  bury(): void {
    for (const socket of [...this.abandoned, ...this.sockets]) socket.destroy();
  }

  /** Something happens to this end of a connection: its process runs. */
  enter(socket: WorldSocket, run: () => void): void {
    this.kernel.current = socket.owner;
    run();
  }
}
