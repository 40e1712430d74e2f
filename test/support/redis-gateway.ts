import { onTestFinished } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { type ConfigPart, type GatewaySettings, LocalGateway, startGateway } from './gateway.ts';
import { type GatewayProcess, type Launch, startGatewayProcess } from './gateway-process.ts';
import { head } from './requests.ts';
import { tempText } from './temp.ts';
import type { TestGateway } from './test-gateway.ts';
import { waitFor } from './wait.ts';
import { type Response, startUpstream } from './wire/index.ts';

export interface RedisGatewaySettings {
  /** Keys of `store`. */
  readonly store: ConfigPart;
  /** Keys of limits.yaml. */
  readonly limits: ConfigPart;
  /** Further keys of gateway.yaml. */
  readonly config?: ConfigPart;
  /** Further keys of the route `/**`. */
  readonly route?: ConfigPart;
  /** Where the upstream `api` listens. Default: one that answers everything. */
  readonly upstreamPort?: number;
  /** What time it is for it. Default: `clockOfTests`. */
  readonly clock?: TimerClock;
}

async function settingsOf(settings: RedisGatewaySettings): Promise<GatewaySettings> {
  const { store, limits, config, route, upstreamPort, clock } = settings;
  return {
    upstreamPort: upstreamPort ?? (await startUpstream()).port,
    ...(clock && { clock }),
    ...(route && { route }),
    config: {
      limits: await tempText('limits.yaml', JSON.stringify(limits)),
      store,
      log: { level: 'info', access: false },
      ...config,
    },
  };
}

/** A gateway in this process that counts in Redis, with an upstream that answers everything. Waits until Redis decides. */
export async function startRedisGateway(settings: RedisGatewaySettings): Promise<LocalGateway> {
  const gateway = await startGateway(await settingsOf(settings));
  await redisDecides(gateway);
  // It has read what other gateways know, too.
  await gateway.ready();
  return gateway;
}

/** The same as a process of its own. */
export async function startRedisGatewayProcess(
  settings: RedisGatewaySettings,
  launch: Launch = {},
): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess(await settingsOf(settings), launch);
  await redisDecides(gateway);
  // It has read what other gateways know, too.
  await gateway.ready();
  return gateway;
}

/** A gateway that did not reach Redis at once tries again when its clock goes on. */
export function redisDecides(gateway: TestGateway): Promise<void> {
  const isUp = async () => (await storeIsUp(gateway)) === 1;
  if (gateway instanceof LocalGateway) return gateway.time.advanceUntil('Redis decides', isUp);
  return waitFor('Redis decides', isUp);
}

export async function storeIsUp(gateway: TestGateway): Promise<number> {
  return (await gateway.metric('weir_store_up')).get('') ?? 0;
}

/** Decisions so far by who made them. */
export async function decisionsBy(gateway: TestGateway, who: string): Promise<number> {
  return (await gateway.metric('weir_store_decisions_total')).get(`{by="${who}"}`) ?? 0;
}

/** Clients that send one request after the other, each on a connection of its own, until they are stopped. */
export class Load {
  readonly responses: Response[] = [];
  readonly #clients: Promise<void>[] = [];
  #stopped = false;

  constructor(gateway: TestGateway, clients = 8, target = 'GET /') {
    for (let i = 0; i < clients; i++) this.#clients.push(this.#run(gateway, target));
    onTestFinished(() => void this.stop());
  }

  /** How many responses had this status, from the given one on. */
  count(status: number, from = 0): number {
    return this.responses.slice(from).filter(response => response.status === status).length;
  }

  get statuses(): number[] {
    return [...new Set(this.responses.map(({ status }) => status))].sort();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #run(gateway: TestGateway, target: string): Promise<void> {
    const client = await gateway.connect();
    while (!this.#stopped) this.responses.push(await client.ask(head(target)));
    client.destroy();
  }
}
