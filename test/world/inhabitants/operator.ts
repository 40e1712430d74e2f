import { METRICS } from '../../../src/observe/metrics/declarations.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { World } from '../world.ts';
import { askAdmin, askOnce } from './ask-once.ts';
import type { WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import type { Response } from './response-reader.ts';

/** What is zero once nobody asks for anything. */
const AT_REST = [
  'weir_requests_in_flight',
  'weir_client_connections',
  'weir_upstream_connections',
  'weir_limit_in_flight',
  'weir_websockets_open',
];

/** How soon a change of files holds, at the latest. */
const RELOAD_MS = 20_000;

/** How long after the last client has left everything is over: an idle connection to a service is kept for a while. */
const REST_MS = 12_000;

/** All but those of Node.js, which are of this machine, and so is the length of a page that has them. */
const METRICS_PATH = `/metrics?${Object.keys(METRICS)
  .map(name => `name[]=${name}`)
  .join('&')}`;

/** Runs the gateways: changes their files, well and badly, and reads their metrics. */
export class Operator implements Inhabitant {
  readonly name = 'operator';
  readonly #world: World;
  #network: WorldNetwork | null = null;
  /** How often it has changed the files of a gateway. */
  #changes = 0;
  /** The route that is only in the newest files. */
  readonly #newest = new Map<WorldGateway, string>();
  #asked = 0;

  constructor(world: World) {
    this.#world = world;
  }

  async start(): Promise<void> {
    const { network } = this.#world.host(this.name).start();
    this.#network = network;
  }

  plan(): void {
    const draws = this.#world.draws.part('operator');
    this.#planNumbers(draws.part('numbers'));
    this.#planResets(draws.part('resets'));
    for (const gateway of this.#world.gateways) {
      for (let i = draws.percent(40) ? draws.whole(1, 3) : 0; i > 0; i--) {
        const how = draws.one(['well', 'badly', 'in two pieces'] as const);
        this.#world.plan.add(
          draws.between(500, 22_000),
          `the files of ${gateway.name} change ${how}`,
          own => {
            const text = this.#changed(gateway);
            if (how === 'well') gateway.writeConfig(text);
            else gateway.writeConfig(text.slice(0, own.whole(1, text.length - 2)));
            const rightMs = how === 'badly' ? own.between(500, 5_000) : own.between(1, 300);
            const newest = this.#changes;
            // Files that were changed again meanwhile stay as they are.
            this.#world.kernel.after(rightMs, this.#world.wires.everyone, () => {
              if (this.#newest.get(gateway)?.endsWith(`-${newest}`)) gateway.writeConfig(text);
            });
          },
        );
      }
    }
  }

  #planNumbers(draws: Draws): void {
    for (const gateway of this.#world.gateways) {
      for (let i = draws.percent(40) ? draws.whole(1, 3) : 0; i > 0; i--) {
        const units = draws.whole(1, 8);
        this.#world.plan.add(draws.between(500, 22_000), `${gateway.name} is to admit ${units}`, () =>
          gateway.changeThings(units),
        );
      }
    }
  }

  /** Gives clients fresh allowances. */
  #planResets(draws: Draws): void {
    const hosts = [...this.#world.wires.hosts].filter(([, name]) => /^(client|patient)/.test(name));
    for (const gateway of this.#world.gateways) {
      for (let i = draws.percent(40) ? draws.whole(1, 4) : 0; i > 0; i--) {
        const [address, name] = draws.one(hosts);
        const query = draws.percent(50) ? `address=${address}` : `address=${address}&bucket=things`;
        this.#world.plan.add(
          draws.between(500, 25_000),
          `${gateway.name} forgets what ${name} has used`,
          () => void this.#reset(gateway, query),
        );
      }
    }
  }

  async #reset(gateway: WorldGateway, query: string): Promise<void> {
    if (this.#network === null) return;
    const response = await askAdmin(this.#network, gateway, 'DELETE', `/api/buckets?${query}`);
    this.#world.history.tell(this.name, `resets ${query}: ${response?.status ?? 'broken'}`);
    if (response?.status === 400 || response?.status === 401 || response?.status === 403)
      this.#world.wrong('admin', `${gateway.name} answers ${response.status} ${response.body}`);
  }

  /** Whatever the files went through, what they say now holds. */
  async prove(): Promise<void> {
    for (const [gateway, path] of this.#newest) {
      const untilMs = this.#world.nowMs + RELOAD_MS;
      let response: Response | null = null;
      do {
        await this.#world.pause(500);
        response = await this.ask(gateway, path, 80);
      } while (response?.status !== 200 && this.#world.nowMs < untilMs);
      if (response?.status !== 200)
        this.#world.wrong(
          'reload',
          `${gateway.name} does not serve ${path}: ${response?.status ?? 'no answer'}`,
        );
    }
  }

  /** Everyone else has left. */
  async leave(): Promise<void> {
    await this.#world.pause(REST_MS);
    for (const gateway of this.#world.gateways) this.#judge(gateway, await this.ask(gateway, METRICS_PATH));
  }

  ask(gateway: WorldGateway, path: string, port = 81): Promise<Response | null> {
    if (this.#network === null) throw new Error('the operator has not started');
    const { address } = gateway.host;
    const id = `probe-operator-${++this.#asked}`;
    if (port !== 81)
      this.#world.requests.begin({
        ...{ id, gateway, method: 'GET', path, token: null, client: this.name },
        ...{ life: gateway.lives.length, mayRepeat: true, sentMs: this.#world.nowMs },
      });
    return askOnce(this.#network, { address, port, method: 'GET', path, fields: { 'X-World': id } });
  }

  /** The configuration, with one more route. */
  #changed(gateway: WorldGateway): string {
    const { config } = gateway;
    const path = `/v1/new-${++this.#changes}`;
    this.#newest.set(gateway, path);
    const route = { path, upstream: 'api', authentication: 'none' };
    return JSON.stringify({ ...config, routes: [...(config.routes as readonly unknown[]), route] });
  }

  #judge(gateway: WorldGateway, response: Response | null): void {
    const wrong = (oracle: string, what: string) => this.#world.wrong(oracle, `${gateway.name}: ${what}`);
    if (response?.status !== 200) wrong('progress', `no metrics: ${response?.status ?? 'no answer'}`);
    for (const line of (response?.body ?? '').split('\n')) {
      const [, name = '', value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
      if (AT_REST.includes(name) && Number(value) !== 0) wrong('at rest', `${line} when all is over`);
    }
    for (const secret of this.#world.secrets)
      if (response?.body.includes(secret)) wrong('secrets', 'the metrics hold one');
  }
}
