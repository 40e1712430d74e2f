import type { Draws } from '../kernel/draws.ts';
import { isCalm } from '../oracles/spread.ts';
import { askOnce } from './ask-once.ts';
import { Asker } from './asker.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';
import { HELD_MS } from './service.ts';

export const HELD_PATH = '/v1/held';

/** How long a lease holds whose gateway has died, or whose end Redis has lost, and a little more. */
const LEASE_MS = 32_000;
const CALM_MS = 8_000;
/** How soon after something has gone wrong with Redis a gateway may count by itself. */
const ALONE_MS = 2_500;

/** Has several requests in flight at once, and leaves some. In the end it may have as many as ever, and no more. */
export class Occupant extends Asker {
  readonly name = 'occupant';

  plan(): void {
    const { draws, gateways, plan, sharing } = this.world;
    const own = draws.part(this.name);
    const first = own.one(gateways);
    for (let i = own.percent(60) ? own.whole(1, 6) : 0; i > 0; i--) {
      const gateway = sharing === null ? first : own.one(gateways);
      const what = `${this.name} wants several things at once of ${gateway.name}`;
      plan.add(this.#when(own), what, each => this.#occupy(gateway, each));
    }
  }

  /** Often while Redis is away: only then a gateway has a share of what may be in flight. */
  #when(draws: Draws): number {
    const faultsMs = this.world.sharing?.redis.faultsMs ?? [];
    if (faultsMs.length === 0 || draws.percent(30)) return draws.between(0, 25_000);
    return draws.one(faultsMs) + draws.between(0, ALONE_MS);
  }

  async prove(): Promise<void> {
    const { gateways, mostHeld, sharing, troubles } = this.world;
    const draws = this.world.draws.part(`${this.name} in the end`);
    const first = draws.one(gateways);
    const any = () => (sharing === null ? first : draws.one(gateways));
    const diedMs = gateways.flatMap(({ lives }) => lives.map(({ untilMs }) => untilMs ?? 0));
    const freeMs = sharing === null ? 0 : Math.max(troubles.shakenMs, ...diedMs) + LEASE_MS;
    await this.world.pause(Math.max(CALM_MS, freeMs - this.world.nowMs));
    const fromMs = this.world.nowMs;
    const asked = Array.from({ length: mostHeld }, () => this.#ask(any()));
    await this.world.pause(HELD_MS / 4);
    const beyond = await this.#ask(any());
    const responses = await Promise.all(asked);
    if (!gateways.every(each => isCalm(this.world, each, fromMs))) return;
    const wrong = (what: string) => this.world.wrong('at once', `${what}, and ${mostHeld} may be in flight`);
    if (responses.some(response => response?.status === 429)) wrong('fewer are admitted');
    else if (beyond?.status === 200 && responses.every(response => response?.status === 200))
      wrong('one more is admitted');
  }

  /** Asks for more at once than it may have, and sometimes goes before the responses come. */
  #occupy(gateway: WorldGateway, draws: Draws): void {
    for (let i = this.world.mostHeld + 1; i > 0; i--) {
      const gone = new AbortController();
      const { kernel, wires } = this.world;
      if (draws.percent(40)) kernel.after(draws.between(1, HELD_MS), wires.everyone, () => gone.abort());
      void this.#ask(gateway, gone.signal);
    }
  }

  async #ask(gateway: WorldGateway, signal?: AbortSignal): Promise<Response | null> {
    if (this.network === null) return null;
    const id = this.nextId('held');
    this.world.requests.begin({
      ...{ id, gateway, method: 'GET', path: HELD_PATH, token: null, client: this.name },
      ...{ life: gateway.lives.length, mayRepeat: true, sentMs: this.world.nowMs },
    });
    const to = { address: gateway.host.address, port: 80, method: 'GET', path: HELD_PATH } as const;
    const fields = { 'X-World': id };
    const response = await askOnce(this.network, { ...to, fields, ...(signal && { signal }) });
    this.world.history.tell(this.name, `${id} of ${gateway.name} gets ${response?.status ?? 'nothing'}`);
    return response;
  }
}
