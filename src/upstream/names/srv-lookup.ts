import { isIP } from 'node:net';
import type { Resolver, System } from '../../core/index.ts';
import type { FoundAddress, Lookup, LookupAnswer } from './lookup.ts';

/** How many hosts are looked up at once, and in total. */
const AT_ONCE = 16;
const MAX_HOSTS = 1_000;
/** After this time, hosts that have not been looked up yet keep their previous addresses. */
const LONGEST_LOOKUP_MS = 15_000;
/** The weight, relative to an average host, of one with weight 0: a very small chance (RFC 2782). */
const SMALLEST_PART = 0.01;

type SrvRecord = Awaited<ReturnType<Resolver['resolveSrv']>>[number];

/** The addresses of a host: IPv4, which is preferred, and IPv6. */
type Families = readonly [readonly string[], readonly string[]];

/** Looks up SRV records (RFC 2782) and the addresses of the hosts that they name. */
export function srvLookup(name: string, { clock, network }: Pick<System, 'clock' | 'network'>): Lookup {
  /** The last addresses of each host. Hosts that are no longer named by a record are forgotten. */
  let known = new Map<string, Families>();
  return async () => {
    const resolver = network.createResolver();
    // A single dot as the host, which Node gives as none, means that the service is not offered.
    const records = (await resolver.resolveSrv(name)).filter(
      ({ name: host, port }) => host !== '' && port > 0,
    );
    if (records.length === 0) throw new Error(`${name} says that its service is not offered`);
    const hosts = new Map<string, Families>();
    const names = [...new Set(records.map(record => record.name))].slice(0, MAX_HOSTS);
    const endMs = clock.monotonicMs() + LONGEST_LOOKUP_MS;
    for (let from = 0; from < names.length; from += AT_ONCE) {
      const isLate = clock.monotonicMs() > endMs;
      const found = names.slice(from, from + AT_ONCE).map(async host => {
        const last = known.get(host);
        const families = isLate ? last : await findHost(resolver, host, last);
        if (families !== undefined) hosts.set(host, families);
      });
      await Promise.all(found);
    }
    known = hosts;
    return answerOf(name, records, hosts);
  };
}

/** Node's codes for names that do not exist, and for names without such records (RFC 2308). */
const NOTHING: readonly unknown[] = ['ENOTFOUND', 'ENODATA'];

/** Returns the previous addresses if a query got no answer, so that a failed query does not make the host change its family. */
async function findHost(
  resolver: Resolver,
  host: string,
  last: Families | undefined,
): Promise<Families | undefined> {
  const replies = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const isUnanswered = replies.some(
    reply => reply.status === 'rejected' && !NOTHING.includes(reply.reason.code),
  );
  if (isUnanswered && last !== undefined) return last;
  const [v4, v6] = replies.map(reply => (reply.status === 'fulfilled' ? reply.value.filter(isIP) : []));
  return [v4 ?? [], v6 ?? []];
}

function answerOf(
  name: string,
  records: readonly SrvRecord[],
  hosts: ReadonlyMap<string, Families>,
): LookupAnswer {
  const priorities = Map.groupBy(records, ({ priority }) => priority);
  const tiers = [...priorities]
    .toSorted(([one], [other]) => one - other)
    .flatMap(([, alike]) => [0, 1].map(rank => tierOf(alike, hosts, rank)))
    .filter(tier => tier.length > 0);
  if (tiers.length === 0) throw new Error(`DNS knows no address of the hosts of ${name}`);
  return tiers;
}

/** Returns the addresses of the records of one priority, of each host's preferred family or of its other one. */
function tierOf(
  records: readonly SrvRecord[],
  hosts: ReadonlyMap<string, Families>,
  rank: number,
): FoundAddress[] {
  const sum = records.reduce((total, { weight }) => total + weight, 0);
  const average = sum / records.length;
  return records.flatMap(record => {
    const families = (hosts.get(record.name) ?? []).filter(family => family.length > 0);
    const addresses = families[rank] ?? [];
    // If no host has a weight, all are equal.
    const weight = sum === 0 ? 1 : Math.max(record.weight / average, SMALLEST_PART);
    return addresses.map(host => ({ host, port: record.port, weight: weight / addresses.length }));
  });
}
