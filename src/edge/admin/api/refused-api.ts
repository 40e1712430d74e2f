import { z } from 'zod';
import type { TopCaller } from '../../../observe/index.ts';
import { ownersOf } from '../../../wire/http/index.ts';
import type { ApiReply } from './operation.ts';
import { moment } from './shapes.ts';

export interface RefusedSources {
  /** Callers refused within the last hour, the most refused first, counted in all threads. */
  refused(): Promise<readonly TopCaller[]>;
}

const networkSchema = z.strictObject({
  network: z.string().describe('The /24 or the /48 that the addresses are in.'),
  addresses: z
    .int()
    .describe('Addresses of it among the 128 callers that are followed; an IPv6 one is a /64.'),
  count: z.int().describe('Requests of these that were refused, at least.'),
  maxCount: z.int().describe('At most.'),
  restricted: z.int().describe('How many of count were refused by a restriction, or as blocked.'),
  since: moment().describe('Since when they are counted.'),
  lastAt: moment().describe('When the last one was refused.'),
});

export const refusedSchema = z.strictObject({
  networks: z
    .array(networkSchema)
    .describe(
      'Networks of which several addresses were refused within the last hour, the most refused first.',
    ),
});

/** Adds up refusals by network: in a list of single addresses, an attacker who uses many looks harmless. */
export function networksOf(refused: readonly TopCaller[]) {
  const addresses = refused.filter(({ callerClass }) => callerClass === 'address');
  const groups = Map.groupBy(addresses, ({ caller }) => ownersOf(caller)[0]?.key ?? caller);
  return Array.from(groups, ([network, callers]) => ({
    network,
    addresses: new Set(callers.map(({ caller }) => caller)).size,
    count: sum(callers, 'count'),
    maxCount: sum(callers, 'maxCount'),
    restricted: sum(callers, 'restricted'),
    sinceMs: Math.min(...callers.map(({ sinceMs }) => sinceMs)),
    lastAtMs: Math.max(...callers.map(({ lastMs }) => lastMs)),
  }))
    .filter(({ addresses: several }) => several > 1)
    .toSorted((one, other) => other.maxCount - one.maxCount);
}

function sum(callers: readonly TopCaller[], what: 'count' | 'maxCount' | 'restricted'): number {
  return callers.reduce((total, caller) => total + caller[what], 0);
}

export async function listRefused({ refused }: RefusedSources): Promise<ApiReply> {
  const networks = networksOf(await refused()).map(({ sinceMs, lastAtMs, ...network }) => ({
    ...network,
    since: new Date(sinceMs).toISOString(),
    lastAt: new Date(lastAtMs).toISOString(),
  }));
  return { status: 200, body: { networks }, change: null };
}
