import type { Draws } from '../kernel/draws.ts';
import { askGateway } from './ask-once.ts';
import { Asker } from './asker.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';

/** How long ago the numbers of the limits may have changed for a wait that it was told. */
const STEADY_MS = 30_000;

/**
 * Asks for one thing after the other, and waits exactly as long as a refusal says: the limit that said so does not refuse it again. Where gateways
 * share a Redis it is less patient, and asks again meanwhile: then a gateway may answer for Redis, but only for a second (`oracles/own-shares.ts`).
 */
export class PatientClient extends Asker {
  readonly name = 'patient';

  plan(): void {
    const draws = this.world.draws.part('patient client');
    if (draws.percent(50)) return;
    const gateway = draws.one(this.world.gateways);
    this.world.plan.add(
      draws.between(0, 10_000),
      `${this.name} wants much of ${gateway.name}`,
      own => void this.#insist(gateway, own),
    );
  }

  async #insist(gateway: WorldGateway, draws: Draws): Promise<void> {
    const life = gateway.lives.length;
    let scope: string | undefined;
    for (let i = 0; i < 20 && gateway.lives.length === life; i++) {
      const response = await this.#ask(gateway);
      const refusedBy = response?.status === 429 ? response.fields.get('x-ratelimit-scope') : undefined;
      const isSame = refusedBy !== undefined && refusedBy === scope && gateway.lives.length === life;
      // Redis and a gateway without it count apart.
      const isSteady = gateway.changedMs < this.world.nowMs - STEADY_MS || gateway.changedMs === 0;
      if (isSame && isSteady && this.world.sharing === null)
        this.world.wrong('waited as told', `${gateway.name} refuses ${this.address} again: ${refusedBy}`);
      scope = refusedBy;
      if (response?.status === 429) await this.world.pause(this.#patience(draws) * waitOf(response));
      else if (draws.percent(20)) await this.world.pause(draws.between(0, 2_000));
    }
  }

  /** For how much of the time that it was told it waits. */
  #patience(draws: Draws): number {
    return this.world.sharing === null || draws.percent(30) ? 1 : draws.between(0.2, 1);
  }

  async #ask(gateway: WorldGateway): Promise<Response | null> {
    if (this.network === null) return null;
    const id = this.nextId();
    const wish = { client: this.name, id, gateway, path: '/v1/things' };
    const { response } = await askGateway(this.world, this.network, wish);
    return response;
  }
}

/** To the millisecond, as the body says it. */
function waitOf({ body }: Response): number {
  return Math.ceil(1_000 * (JSON.parse(body) as { readonly retry_after: number }).retry_after);
}
