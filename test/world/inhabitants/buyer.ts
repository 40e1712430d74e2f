import { SOLD } from '../oracles/sold-quotas.ts';
import { askGateway } from './ask-once.ts';
import { Asker } from './asker.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';

/** How long before and after the moment of the night it likes to ask. */
const NEAR_MS = 60;

/** Buys as much as it may before the moment of the night, and again after it. A window that it is told of ends when the calendar says. */
export class Buyer extends Asker {
  readonly name = 'buyer';

  plan(): void {
    const { draws: all, plan, night, kernel, gateways } = this.world;
    const draws = all.part(this.name);
    const momentMs = night.momentMs - kernel.epochMs();
    const often = draws.one(gateways);
    for (let i = draws.whole(3, 25); i > 0; i--) {
      const gateway = draws.percent(70) ? often : draws.one(gateways);
      const near = draws.between(momentMs - NEAR_MS, momentMs + NEAR_MS);
      const atMs = draws.percent(40) ? near : draws.between(0, 28_000);
      const count = draws.whole(1, 4);
      plan.add(Math.max(0, atMs), `${this.name} buys ${count} of ${gateway.name}`, () => {
        for (let n = 0; n < count; n++) void this.#buy(gateway);
      });
    }
  }

  async #buy(gateway: WorldGateway): Promise<void> {
    if (this.network === null) return;
    const wish = { client: this.name, id: this.nextId(), gateway, path: SOLD };
    const { asked, response } = await askGateway(this.world, this.network, wish);
    if (response === null) return;
    asked.status = response.status;
    asked.fields = response.fields;
    asked.outcome = 'answered';
    this.#judge(asked.id, response);
  }

  #judge(id: string, { fields }: Response): void {
    const reset = fields.get('x-ratelimit-reset');
    const ends = Object.values(this.world.night.ends).flat();
    if (reset !== undefined && !ends.includes(Math.round(1_000 * Number(reset))))
      this.world.wrong('calendar', `${id} was told a window that ends at ${reset}`);
  }
}
