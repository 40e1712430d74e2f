import { setTimeout as sleep } from 'node:timers/promises';
import { writeLimits } from './gateway.ts';
import type { ProbedGateway } from './probed-gateway.ts';
import type { Services } from './services.ts';

export interface Fault {
  readonly name: string;
  /** Lasts so long, and is over when it resolves. */
  happen(ms: number): Promise<void>;
}

export interface World {
  readonly services: Services;
  readonly gateway: ProbedGateway;
  /** Of the gateway's files. */
  readonly folder: string;
}

/** What a cycle meets: each fault in turn, beginning with one that the seed says, and a reload with every one. */
export function faultOf(cycle: number, seed: number, { services, gateway, folder }: World): Fault {
  const { fast, slow, calls, webSockets, provider, redis } = services;
  const away = (name: string, part: { start(): Promise<void>; stop(): Promise<void> }): Fault => ({
    name,
    async happen(ms) {
      await part.stop();
      await sleep(ms);
      await part.start();
    },
  });
  const faults: readonly Fault[] = [
    away('one of two upstreams away', fast),
    away('provider away', provider),
    away('Redis killed', { start: () => redis.start(), stop: () => redis.kill() }),
    away('the other upstream away', slow),
    away('service of gRPC and HTTP/2 away', calls),
    away('Redis stopped', { start: async () => redis.thaw(), stop: async () => redis.freeze() }),
    away('service of WebSockets away', webSockets),
    { name: 'a worker dies', happen: async () => gateway.endWorker() },
  ];
  const fault = faults[(cycle + seed) % faults.length] ?? { name: 'nothing', happen: sleep };
  return {
    name: fault.name,
    async happen(ms) {
      await writeLimits(folder, cycle);
      gateway.reload();
      await fault.happen(ms);
    },
  };
}
