import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import { PROMISE_MS } from '../oracles/spread.ts';
import type { WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { askOnce } from './ask-once.ts';
import { Asker } from './asker.ts';
import type { WorldGateway } from './gateway.ts';
import type { WorldProvider } from './provider.ts';

/** How long after all faults what one gateway hears, all know within the promised second. */
const CALM_MS = 8_000;

/** Someone whose token is revoked, and who goes on to show it: also to a gateway that has died meanwhile, and to those that share its Redis. */
export class Exile extends Asker {
  readonly name = 'exile';
  readonly #provider: WorldProvider;

  constructor(world: World, provider: WorldProvider) {
    super(world);
    this.#provider = provider;
  }

  plan(): void {
    const draws = this.world.draws.part(this.name);
    if (draws.percent(60)) return;
    const gateway = draws.one(this.world.gateways);
    this.world.plan.add(
      draws.between(500, 8_000),
      `${this.name} has a token that ${gateway.name} is to refuse`,
      own => void this.#suffer(gateway, own),
    );
  }

  async #suffer(gateway: WorldGateway, draws: Draws): Promise<void> {
    const world = this.world;
    const network = this.network;
    if (network === null) return;
    const token = this.#provider.tokenFor(draws);
    // Moments of revocations are whole seconds.
    await world.pause(2_000);
    await this.#provider.revoke(gateway);
    const diesMs = draws.percent(60) ? world.nowMs + draws.between(1_100, 3_000) : Infinity;
    let hasDied = false;
    for (const untilMs = world.nowMs + 12_000; world.nowMs < untilMs; ) {
      if (!hasDied && world.nowMs >= diesMs) {
        hasDied = true;
        gateway.crash(draws.between(50, 2_000), draws.percent(30));
      }
      await this.#ask(network, this.#others(gateway, draws), token);
      await world.pause(draws.between(50, 800));
    }
  }

  /** Once all is calm, every gateway refuses what one of them was told to. */
  async prove(): Promise<void> {
    const { draws, gateways, sharing } = this.world;
    const network = this.network;
    if (network === null || sharing === null || gateways.length === 1) return;
    await this.world.pause(CALM_MS);
    const own = draws.part(`${this.name} in the end`);
    const token = this.#provider.tokenFor(own);
    for (const gateway of gateways) await this.#ask(network, gateway, token);
    await this.world.pause(2_000);
    await this.#provider.revoke(own.one(gateways));
    await this.world.pause(PROMISE_MS + 200);
    for (const gateway of gateways) await this.#ask(network, gateway, token);
  }

  #others(gateway: WorldGateway, draws: Draws): WorldGateway {
    const { gateways, sharing } = this.world;
    return sharing === null || draws.percent(40) ? gateway : draws.one(gateways);
  }

  async #ask(network: WorldNetwork, gateway: WorldGateway, token: WorldToken): Promise<void> {
    const { history, nowMs, requests } = this.world;
    const id = this.nextId();
    const asked = requests.begin({
      ...{ id, gateway, method: 'GET', path: '/v1/other', token, client: this.name },
      ...{ life: gateway.lives.length, mayRepeat: true, sentMs: nowMs },
    });
    const { address } = gateway.host;
    const to = { address, port: 80, method: 'GET', path: asked.path } as const;
    const fields = { 'X-World': id, Authorization: `Bearer ${token.text}` };
    const onRead = () => {
      asked.readMs = this.world.nowMs;
    };
    const response = await askOnce(network, { ...to, fields, onRead });
    history.tell(this.name, `${id} gets ${response?.status ?? 'nothing'}`);
  }
}
