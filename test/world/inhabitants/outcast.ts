import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import { type Fact, mustKnow } from '../oracles/spread.ts';
import { askAdmin, askGateway } from './ask-once.ts';
import { Asker } from './asker.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';

/** From when to when gateways must refuse the outcast. */
interface Ban extends Fact {
  /** When it may end. */
  endsMs: number;
  /** When nothing of it may be left. */
  goneMs: number;
  /** Who has confirmed that it is lifted. */
  lift: Fact | null;
}

/** How much longer it may last at other gateways: a message that tells of it may be as slow as the network, both ways. */
const ELSEWHERE_MS = 3_500;

/** A client that an operator restricts and lifts again, while it asks and asks: at all gateways, if they share a Redis. */
export class Outcast extends Asker {
  readonly name = 'outcast';

  plan(): void {
    const draws = this.world.draws.part(this.name);
    if (draws.percent(40)) return;
    const gateway = draws.one(this.world.gateways);
    const forS = draws.whole(2, 12);
    this.world.plan.add(
      draws.between(500, 12_000),
      `${this.name} is restricted at ${gateway.name} for ${forS} s`,
      own => void this.#suffer(gateway, forS, own),
    );
  }

  async #suffer(gateway: WorldGateway, forS: number, draws: Draws): Promise<void> {
    const network = this.network;
    if (network === null) return;
    const life = gateway.lives.length;
    const askedMs = this.world.nowMs;
    const body = JSON.stringify({ address: this.address, for: `${forS}s` });
    const added = await askAdmin(network, gateway, 'POST', '/api/restrictions', body);
    this.world.history.tell(this.name, `is restricted: ${added?.status ?? 'broken'}`);
    if (added?.status !== 201) return;
    const { id } = JSON.parse(added.body) as { readonly id: string };
    // Clocks may be wrong by a thousandth.
    const ban: Ban = {
      ...{ gateway, life, fromMs: this.world.nowMs, isShort: true, lift: null },
      ...{ endsMs: askedMs + forS * 990, goneMs: this.world.nowMs + forS * 1_010 + 100 },
    };
    if (this.world.sharing !== null) ban.goneMs += ELSEWHERE_MS;
    const liftMs = draws.percent(50) ? this.world.nowMs + draws.between(200, 6_000) : Infinity;
    for (let isLifted = false; this.world.nowMs < ban.goneMs + 3_000; ) {
      if (!isLifted && this.world.nowMs >= liftMs) {
        isLifted = true;
        await this.#lift(network, this.#anyOf(gateway, draws), ban, id);
      }
      await this.#ask(network, this.#anyOf(gateway, draws), ban);
      await this.world.pause(draws.between(50, 700));
    }
  }

  async #lift(network: WorldNetwork, gateway: WorldGateway, ban: Ban, id: string): Promise<void> {
    const life = gateway.lives.length;
    ban.endsMs = Math.min(ban.endsMs, this.world.nowMs);
    const lifted = await askAdmin(network, gateway, 'DELETE', `/api/restrictions/${id}`);
    this.world.history.tell(this.name, `is lifted by ${gateway.name}: ${lifted?.status ?? 'broken'}`);
    if (lifted?.status === 204) ban.lift = { gateway, life, fromMs: this.world.nowMs, isShort: true };
  }

  /** That gateway, or any that shares what it knows. */
  #anyOf(gateway: WorldGateway, draws: Draws): WorldGateway {
    const { gateways, sharing } = this.world;
    return sharing === null || draws.percent(40) ? gateway : draws.one(gateways);
  }

  async #ask(network: WorldNetwork, gateway: WorldGateway, ban: Ban): Promise<void> {
    const id = this.nextId();
    const wish = { client: this.name, id, gateway, path: '/v1/open' };
    const { asked, response } = await askGateway(this.world, network, wish);
    const { readMs } = asked;
    if (readMs === null) return;
    const isLetIn = asked.arrivals.length > 0 || response?.status === 200;
    const isUnlifted = this.world.nowMs < ban.endsMs;
    if (isLetIn && isUnlifted && mustKnow(this.world, ban, gateway, readMs))
      this.world.wrong('restricted', `${gateway.name} lets ${id} in, which is restricted`);
    if (isBanned(response) && this.#isOver(gateway, ban, readMs))
      this.world.wrong('restricted', `${gateway.name} refuses ${id}, which is restricted no more`);
  }

  /** Whether the restriction was over by then: lifted, as this gateway must know, or at its end. */
  #isOver(gateway: WorldGateway, { fromMs, goneMs, life, lift }: Ban, atMs: number): boolean {
    const { sharing, troubles } = this.world;
    if (lift !== null && mustKnow(this.world, lift, gateway, atMs)) return true;
    if (atMs <= goneMs) return false;
    if (sharing === null) return gateway.lives.length === life;
    return !troubles.hasStepped(0, atMs) && !this.#mayReturn(fromMs);
  }

  /** Whether a gateway may have begun it anew, and told all others: its clock was set back, so that what it kept seems fresh. */
  #mayReturn(sinceMs: number): boolean {
    const { gateways, keepsState } = this.world;
    const isSetBack = ({ host: { wallOffsetsMs } }: WorldGateway) =>
      wallOffsetsMs.some((offsetMs, i) => offsetMs < (wallOffsetsMs[i - 1] ?? offsetMs));
    return (
      keepsState &&
      gateways.some(each => isSetBack(each) && each.lives.some(({ fromMs }) => fromMs > sinceMs))
    );
  }
}

/** Whether this is how a restricted client is refused. */
function isBanned(response: Response | null): boolean {
  return response?.status === 429 && (JSON.parse(response.body) as { readonly code: number }).code === 8;
}
