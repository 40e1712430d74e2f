import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { World } from '../world.ts';
import { askAdmin, askOnce } from './ask-once.ts';
import type { WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import type { Response } from './response-reader.ts';

/** From when to when a gateway must refuse the outcast. */
interface Ban {
  readonly life: number;
  /** When the gateway had confirmed it. */
  readonly fromMs: number;
  /** When it may end. */
  endsMs: number;
  /** When nothing of it may be left. */
  goneMs: number;
}

/** How soon a gateway has a restriction on its disk. */
const PROMISE_MS = 1_000;

/** A client that an operator restricts and lifts again, while it asks and asks. */
export class Outcast implements Inhabitant {
  readonly name = 'outcast';
  readonly #world: World;
  #network: WorldNetwork | null = null;
  #address = '';
  #requests = 0;

  constructor(world: World) {
    this.#world = world;
  }

  async start(): Promise<void> {
    const host = this.#world.host(this.name);
    this.#address = host.address;
    this.#network = host.start().network;
  }

  plan(): void {
    const draws = this.#world.draws.part(this.name);
    if (draws.percent(40)) return;
    const gateway = draws.one(this.#world.gateways);
    const forS = draws.whole(2, 12);
    this.#world.plan.add(
      draws.between(500, 12_000),
      `${this.name} is restricted at ${gateway.name} for ${forS} s`,
      own => void this.#suffer(gateway, forS, own),
    );
  }

  async #suffer(gateway: WorldGateway, forS: number, draws: Draws): Promise<void> {
    const network = this.#network;
    if (network === null) return;
    const life = gateway.lives.length;
    const askedMs = this.#world.nowMs;
    const body = JSON.stringify({ address: this.#address, for: `${forS}s` });
    const added = await askAdmin(network, gateway, 'POST', '/api/restrictions', body);
    this.#world.history.tell(this.name, `is restricted: ${added?.status ?? 'broken'}`);
    if (added?.status !== 201) return;
    const { id } = JSON.parse(added.body) as { readonly id: string };
    // Clocks may be wrong by a thousandth.
    const ban: Ban = {
      ...{ life, fromMs: this.#world.nowMs },
      ...{ endsMs: askedMs + forS * 990, goneMs: this.#world.nowMs + forS * 1_010 + 100 },
    };
    const liftMs = draws.percent(50) ? this.#world.nowMs + draws.between(200, 6_000) : Infinity;
    for (let isLifted = false; this.#world.nowMs < ban.goneMs + 3_000; ) {
      if (!isLifted && this.#world.nowMs >= liftMs) {
        isLifted = true;
        ban.endsMs = Math.min(ban.endsMs, this.#world.nowMs);
        const lifted = await askAdmin(network, gateway, 'DELETE', `/api/restrictions/${id}`);
        this.#world.history.tell(this.name, `is lifted: ${lifted?.status ?? 'broken'}`);
        if (lifted?.status === 204 && gateway.lives.length === life)
          ban.goneMs = Math.min(ban.goneMs, this.#world.nowMs);
      }
      await this.#ask(network, gateway, ban);
      await this.#world.pause(draws.between(50, 700));
    }
  }

  async #ask(network: WorldNetwork, gateway: WorldGateway, ban: Ban): Promise<void> {
    const { history, requests } = this.#world;
    const id = `${this.name}-${++this.#requests}`;
    const sentMs = this.#world.nowMs;
    const asked = requests.begin({
      ...{ id, gateway, method: 'GET', path: '/v1/open', token: null, client: this.name },
      ...{ life: gateway.lives.length, mayRepeat: true, sentMs },
    });
    const { address } = gateway.host;
    const to = { address, port: 80, method: 'GET', path: asked.path } as const;
    const response = await askOnce(network, { ...to, fields: { 'X-World': id } });
    history.tell(this.name, `${id} gets ${response?.status ?? 'nothing'}`);
    const isLetIn = asked.arrivals.length > 0 || response?.status === 200;
    if (isLetIn && this.#world.nowMs < ban.endsMs && this.#holds(gateway, ban))
      this.#world.wrong('restricted', `${gateway.name} lets ${id} in, which is restricted`);
    // A lift may be lost with the process, or with the Redis that all gateways share.
    const isSame = gateway.lives.length === ban.life && this.#world.sharing === null;
    if (sentMs > ban.goneMs && isSame && isBanned(response))
      this.#world.wrong('restricted', `${gateway.name} refuses ${id}, which is restricted no more`);
  }

  /** Whether the gateway must still know of it, also when it has been killed meanwhile. */
  #holds({ lives, host }: WorldGateway, { life, fromMs }: Ban): boolean {
    if (lives.length === life) return true;
    const endedMs = lives[life - 1]?.untilMs ?? Number.POSITIVE_INFINITY;
    const isKept = this.#world.keepsState && endedMs > fromMs + PROMISE_MS;
    return isKept && this.#world.sharing === null && host.wallOffsetsMs.length === 1;
  }
}

/** Whether this is how a restricted client is refused. */
function isBanned(response: Response | null): boolean {
  return response?.status === 429 && (JSON.parse(response.body) as { readonly code: number }).code === 8;
}
