import type { WorldNetwork } from '../network/network.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

/** A client on a machine of its own, which asks gateways on a new connection each time (`ask-once.ts`). */
export abstract class Asker implements Inhabitant {
  abstract readonly name: string;
  protected readonly world: World;
  /** `null` until it has started. */
  protected network: WorldNetwork | null = null;
  protected address = '';
  #requests = 0;

  constructor(world: World) {
    this.world = world;
  }

  async start(): Promise<void> {
    const host = this.world.host(this.name);
    this.address = host.address;
    this.network = host.start().network;
  }

  /** Returns the id of its next request, which no other request of the world has. */
  protected nextId(kind = this.name): string {
    return `${kind}-${++this.#requests}`;
  }
}
