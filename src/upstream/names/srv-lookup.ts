import { isIPv4, isIPv6 } from 'node:net';
import type { SrvAnswer, StringAnswer } from 'dns-packet';
import type { DnsReply, DnsSystem } from './dns-client.ts';
import { canonicalName, DnsClient, NoSuchRecords, sameName } from './dns-client.ts';
import type { FoundAddress, Lookup, LookupAnswer } from './lookup.ts';

/** Bounds on the time that DNS allows: the maximum so that changes are noticed, the minimum so that no server is flooded. */
const LONGEST_MS = 300_000;
const SHORTEST_MS = 5_000;
/** How many hosts are looked up at once, and in total. */
const AT_ONCE = 16;
const MAX_HOSTS = 1_000;
/** After this time, hosts that have not been looked up yet keep their previous addresses. */
const LONGEST_LOOKUP_MS = 15_000;
/** The weight, relative to an average host, of one with weight 0: a very small chance (RFC 2782). */
const SMALLEST_PART = 0.01;

/** The addresses of a host named by SRV records. */
interface HostAddresses {
  /** The family to use first, then the other; at least one, none empty. */
  readonly families: readonly (readonly string[])[];
  readonly ttlMs: number;
}

/**
 * Looks up SRV records (RFC 2782) in DNS directly, since the system does not report how long they are valid. For a host with
 * addresses of both families, IPv4 is used first.
 */
export function srvLookup(name: string, system: DnsSystem): Lookup {
  const client = new DnsClient(system);
  /** The last addresses of each host. Hosts that are no longer named by a record are forgotten. */
  let known = new Map<string, HostAddresses>();
  return async () => {
    const reply = await client.ask(name, 'SRV');
    const records = srvRecords(reply);
    if (records.length === 0) throw new NoSuchRecords(`${name} says that its service is not offered`);
    const hosts = new Map<string, HostAddresses>();
    const targets = [...new Set(records.map(({ data }) => canonicalName(data.target)))].slice(0, MAX_HOSTS);
    const endMs = system.clock.monotonicMs() + LONGEST_LOOKUP_MS;
    for (let from = 0; from < targets.length; from += AT_ONCE) {
      const isLate = system.clock.monotonicMs() > endMs;
      const found = targets.slice(from, from + AT_ONCE).map(async target => {
        const last = known.get(target);
        const addresses = isLate ? last : await findHost(client, target, reply, last);
        if (addresses !== undefined && addresses !== null) hosts.set(target, addresses);
      });
      await Promise.all(found);
    }
    known = hosts;
    return answerOf(name, records, hosts);
  };
}

/** Returns the records that name a target to connect to. A single dot as the host means that the service is not offered. */
function srvRecords({ answers }: DnsReply): SrvAnswer[] {
  return answers
    .filter(record => record.type === 'SRV')
    .filter(({ data }) => data.target !== '.' && data.port > 0);
}

/**
 * Finds the addresses of a host: in the response that named it, or by a query. Returns the previous ones if a query got no
 * answer, so that the host does not change its family for that, and `null` if the host has no address.
 */
async function findHost(
  client: DnsClient,
  target: string,
  { additionals }: DnsReply,
  known: HostAddresses | undefined,
): Promise<HostAddresses | null> {
  const added = addressesIn(additionals.filter(record => sameName(record.name, target)));
  if (added !== null) return added;
  const replies = await Promise.allSettled([client.ask(target, 'A'), client.ask(target, 'AAAA')]);
  const found = addressesIn(
    replies.flatMap(reply => (reply.status === 'fulfilled' ? reply.value.answers : [])),
  );
  const isUnanswered = (reply: PromiseSettledResult<DnsReply>) =>
    reply.status === 'rejected' && !(reply.reason instanceof NoSuchRecords);
  return replies.some(isUnanswered) ? (known ?? found) : found;
}

function addressesIn(records: DnsReply['answers']): HostAddresses | null {
  const v4 = records.filter((record): record is StringAnswer => record.type === 'A' && isIPv4(record.data));
  const v6 = records.filter(
    (record): record is StringAnswer => record.type === 'AAAA' && isIPv6(record.data),
  );
  const families = [v4, v6].filter(family => family.length > 0).map(family => family.map(({ data }) => data));
  return families.length === 0 ? null : { families, ttlMs: shortestTtl([...v4, ...v6]) };
}

function shortestTtl(records: readonly { readonly ttl?: number | undefined }[]): number {
  return Math.min(...records.map(({ ttl = 0 }) => ttl * 1_000));
}

function answerOf(
  name: string,
  records: readonly SrvAnswer[],
  hosts: ReadonlyMap<string, HostAddresses>,
): LookupAnswer {
  const priorities = Map.groupBy(records, ({ data }) => data.priority ?? 0);
  const tiers = [...priorities]
    .toSorted(([one], [other]) => one - other)
    .flatMap(([, alike]) => [0, 1].map(family => tierOf(alike, hosts, family)))
    .filter(tier => tier.length > 0);
  if (tiers.length === 0) throw new Error(`DNS knows no address of the hosts of ${name}`);
  const ttlMs = Math.min(shortestTtl(records), ...[...hosts.values()].map(({ ttlMs }) => ttlMs));
  return { tiers, goodForMs: Math.max(SHORTEST_MS, Math.min(ttlMs, LONGEST_MS)) };
}

/** Returns the addresses of the records of one priority: those of each host's first family, or of its second. */
function tierOf(
  records: readonly SrvAnswer[],
  hosts: ReadonlyMap<string, HostAddresses>,
  family: number,
): FoundAddress[] {
  const sum = records.reduce((total, { data }) => total + (data.weight ?? 0), 0);
  const average = sum / records.length;
  return records.flatMap(({ data }) => {
    const addresses = hosts.get(canonicalName(data.target))?.families[family] ?? [];
    // If no host has a weight, all are equal.
    const weight = sum === 0 ? 1 : Math.max((data.weight ?? 0) / average, SMALLEST_PART);
    return addresses.map(host => ({ host, port: data.port, weight: weight / addresses.length }));
  });
}
