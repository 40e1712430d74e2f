import type { WorldNetwork } from '../network/network.ts';
import { askOnce } from './ask-once.ts';
import { Asker } from './asker.ts';
import { ADMIN_TOKEN, type WorldGateway } from './gateway.ts';

/** How often it looks what waits in the sockets of gateways. */
const LOOKS_MS = 100;
/** How much more than `caps.buffered` may wait within a turn: each thread frees memory at the end of its own. */
export const TURN_BYTES = 524_288;
/** How soon everything is given back whose client has gone. */
const GIVEN_BACK_MS = 20_000;

/** What a gateway says that it holds. */
export interface Held {
  /** Requests in flight, by upstream; under '' all that have not ended. */
  readonly inFlight: ReadonlyMap<string, number>;
  /** For clients. */
  readonly bytes: number;
}

/** Looks how much gateways hold for their clients: while these do not read, and when they have gone. */
export class Auditor extends Asker {
  readonly name = 'auditor';

  override async start(): Promise<void> {
    await super.start();
    this.#look();
  }

  async leave(): Promise<void> {
    const untilMs = this.world.nowMs + GIVEN_BACK_MS;
    for (const gateway of this.world.gateways) {
      let left = await this.#left(gateway);
      while (left !== '' && this.world.nowMs < untilMs) {
        await this.world.pause(1_000);
        left = await this.#left(gateway);
      }
      if (left !== '') this.world.wrong('given back', `nobody is left, and ${gateway.name} holds ${left}`);
    }
  }

  async #left(gateway: WorldGateway): Promise<string> {
    if (this.network === null) return '';
    const held = await askHeld(this.network, gateway);
    if (held === null) return 'no answer';
    const requests = [...held.inFlight].filter(([, count]) => count > 0);
    const words = requests.map(([upstream, count]) => `${count} requests to ${upstream || 'anything'}`);
    if (held.bytes > 0) words.push(`${held.bytes} bytes`);
    return words.join(', ');
  }

  /** Adds up what the sockets of each gateway hold that its clients have not taken. */
  #look(): void {
    const { kernel, wires, gateways, reading } = this.world;
    for (const gateway of gateways) {
      let bytes = 0;
      for (const socket of wires.sockets)
        if (socket.host === gateway.host && socket.isServer) bytes += socket.writableLength;
      if (bytes > reading.bufferedBytes + TURN_BYTES)
        this.world.wrong(
          'buffered',
          `${gateway.name} holds ${bytes} bytes, and ${reading.bufferedBytes} are allowed`,
        );
    }
    kernel.after(LOOKS_MS, wires.everyone, () => this.#look());
  }
}

/** Asks a gateway what it holds. Resolves to `null` if it does not say. */
export async function askHeld(network: WorldNetwork, gateway: WorldGateway): Promise<Held | null> {
  const fields = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const to = { address: gateway.host.address, port: 81, method: 'GET', fields } as const;
  const status = await askOnce(network, { ...to, path: '/status.json' });
  // Those of Node.js are of this machine, and so is the length of a page that has them.
  const names = 'name[]=weir_requests_in_flight&name[]=weir_buffered_bytes';
  const metrics = await askOnce(network, { ...to, path: `/metrics?${names}` });
  if (status?.status !== 200 || metrics?.status !== 200) return null;
  const { upstreams } = JSON.parse(status.body) as {
    readonly upstreams: readonly { readonly name: string; readonly requestsInFlight: number }[];
  };
  const read = (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(metrics.body)?.[1] ?? Number.NaN);
  const inFlight = new Map(upstreams.map(({ name, requestsInFlight }) => [name, requestsInFlight]));
  inFlight.set('', read('weir_requests_in_flight'));
  return { inFlight, bytes: read('weir_buffered_bytes') };
}
