import type { Clock, RestrictedKind, RestrictionReason, RestrictionTableName } from '../../core/index.ts';
import { RESTRICTION_TABLES } from '../../core/index.ts';
import { tableSizeFor } from '../counting/index.ts';
import { EvictionOrder } from './eviction-order.ts';
import type { NamedRestriction, RestrictedClient, Restriction, Whom } from './restriction.ts';
import { digestOfWhom, isNamed, isOver, tableOf } from './restriction.ts';

/**
 * The digests of clients that are never restricted here. Restrictions of them announced by other gateways are kept: other
 * gateways may have other lists, and a reload may change this one.
 */
class SparedClients {
  /** Clients listed individually. */
  #named: ReadonlySet<string> = new Set();
  /** Clients that only a request could identify, since the list contains their network, or since they call a webhook. */
  readonly #met = new Set<string>();

  setNamed(named: ReadonlySet<string>): void {
    this.#named = named;
    this.#met.clear();
  }

  /** Records that the client with this digest was seen and is never restricted here. */
  meet(digest: string): void {
    this.#met.add(digest);
  }

  has(digest: string): boolean {
    return this.#named.has(digest) || this.#met.has(digest);
  }

  /** Forgets that a client was seen, because its restriction is over. */
  forget(digest: string): void {
    this.#met.delete(digest);
  }

  *all(): Generator<string> {
    yield* this.#met;
    for (const digest of this.#named) if (!this.#met.has(digest)) yield digest;
  }
}

/**
 * Holds restrictions up to its own cap. Each is found by its digest, and by name once its client was seen here: before that, a
 * restriction announced by another gateway has only the digest.
 */
export class RestrictionTable {
  readonly #max: number;
  readonly #byDigest = new Map<string, Restriction>();
  readonly #named: Readonly<Record<RestrictedKind, Map<string, NamedRestriction>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };
  /** How many are known only by their digest. */
  readonly #unmet: Record<RestrictedKind, number> = { address: 0, principal: 0, webhook: 0 };
  readonly #order = new EvictionOrder<Restriction>();
  /** The restrictions on webhooks, by the digest of the calling address. */
  readonly #byOwner = new Map<string, Restriction[]>();
  /** No restriction ends before this time. */
  #nextEndMs = Number.POSITIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#byDigest.size;
  }

  get isFull(): boolean {
    return this.#byDigest.size >= this.#max;
  }

  get unmet(): number {
    const { address, principal, webhook } = this.#unmet;
    return address + principal + webhook;
  }

  /** The restriction that is evicted when the table is full. */
  get evictable(): Restriction | undefined {
    return this.#order.first;
  }

  isEmpty(kind: RestrictedKind): boolean {
    return this.#named[kind].size === 0 && this.#unmet[kind] === 0;
  }

  hasUnmet(kind: RestrictedKind): boolean {
    return this.#unmet[kind] > 0;
  }

  find(whom: Whom): NamedRestriction | undefined {
    return this.#named[whom.kind].get(mapKey(whom));
  }

  withDigest(digest: string): Restriction | undefined {
    return this.#byDigest.get(digest);
  }

  /** Returns the restrictions of this address on webhooks. */
  ofOwner(owner: string): readonly Restriction[] {
    return this.#byOwner.get(owner) ?? NONE;
  }

  /** Iterates over all restrictions. The table may change meanwhile. */
  all(): Iterable<Restriction> {
    return this.#byDigest.values();
  }

  /** Adds a restriction, in place of the one with the same digest. */
  set(restriction: Restriction): void {
    const before = this.#byDigest.get(restriction.digest);
    if (before !== undefined) this.delete(before);
    this.#byDigest.set(restriction.digest, restriction);
    if (isNamed(restriction)) this.#named[restriction.kind].set(mapKey(restriction), restriction);
    else this.#unmet[restriction.kind]++;
    this.#order.add(restriction);
    if (restriction.owner !== '') addTo(this.#byOwner, restriction);
    this.#nextEndMs = Math.min(this.#nextEndMs, restriction.untilMs - restriction.slackMs);
  }

  /** `restriction` must be in the table. */
  delete(restriction: Restriction): void {
    this.#byDigest.delete(restriction.digest);
    if (isNamed(restriction)) this.#named[restriction.kind].delete(mapKey(restriction));
    else this.#unmet[restriction.kind]--;
    this.#order.delete(restriction);
    deleteFrom(this.#byOwner, restriction);
  }

  /** Returns the restrictions that are over. Searches only when there may be one. */
  over(nowMs: number): readonly Restriction[] {
    if (nowMs < this.#nextEndMs) return [];
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    const found: Restriction[] = [];
    for (const each of this.#byDigest.values()) {
      if (isOver(each, nowMs)) found.push(each);
      else this.#nextEndMs = Math.min(this.#nextEndMs, each.untilMs - each.slackMs);
    }
    return found;
  }
}

const NONE: readonly Restriction[] = [];

function addTo(owners: Map<string, Restriction[]>, restriction: Restriction): void {
  const known = owners.get(restriction.owner);
  if (known !== undefined) known.push(restriction);
  else owners.set(restriction.owner, [restriction]);
}

/** Walks through the owner's restrictions, which are few: an address with more than a hundred is itself restricted. */
function deleteFrom(owners: Map<string, Restriction[]>, restriction: Restriction): void {
  const known = owners.get(restriction.owner);
  if (known === undefined) return;
  known.splice(known.indexOf(restriction), 1);
  if (known.length === 0) owners.delete(restriction.owner);
}

/** Joins both to one key, which is unambiguous because no address contains a space. */
function mapKey({ key, webhook }: Pick<Whom, 'key' | 'webhook'>): string {
  return webhook === '' ? key : `${key} ${webhook}`;
}

const PLACES: Readonly<Record<RestrictionTableName, number>> = {
  operator: 10_000,
  principal: 50_000,
  address: 100_000,
  webhook: 50_000,
};

/** How many restrictions each table holds for this many counters. Those of operators are few, and always have room. */
export function placesForCounters(limitKeys: number): typeof PLACES {
  const of = (name: RestrictionTableName) => tableSizeFor(PLACES[name], limitKeys);
  return { ...PLACES, principal: of('principal'), address: of('address'), webhook: of('webhook') };
}

/** All restrictions, in their tables. A client may have two: an automatic one and an operator's. */
export class RestrictionTables {
  /** The tables in the order shown to operators. */
  readonly all: readonly RestrictionTable[];
  readonly spared = new SparedClients();
  readonly #byName: Readonly<Record<RestrictionTableName, RestrictionTable>>;

  constructor({ operator, principal, address, webhook } = PLACES) {
    this.#byName = {
      operator: new RestrictionTable(operator),
      principal: new RestrictionTable(principal),
      address: new RestrictionTable(address),
      webhook: new RestrictionTable(webhook),
    };
    this.all = RESTRICTION_TABLES.map(name => this.#byName[name]);
  }

  named(name: RestrictionTableName): RestrictionTable {
    return this.#byName[name];
  }

  of(restriction: Pick<Restriction, 'kind' | 'reason'>): RestrictionTable {
    return this.#byName[tableOf(restriction)];
  }

  withDigest(digest: string): Restriction[] {
    return this.all.flatMap(table => table.withDigest(digest) ?? []);
  }

  /** How many restrictions refuse a client here. */
  get size(): number {
    return this.#withoutSpared(this.all.reduce((sum, { size }) => sum + size, 0));
  }

  /** How many restrictions come from other gateways for clients not seen here. */
  get unmet(): number {
    return this.#withoutSpared(this.all.reduce((sum, { unmet }) => sum + unmet, 0));
  }

  delete(restriction: Restriction): void {
    this.of(restriction).delete(restriction);
    this.spared.forget(restriction.digest);
  }

  /** Returns the reason of the restriction that ends last, for a restricted client that was seen here. */
  reasonFor({ kind, key }: RestrictedClient): RestrictionReason {
    const whom = { kind, key, webhook: '' };
    const automatic = this.#byName[kind].find(whom);
    const own = this.#byName.operator.find(whom);
    return automatic !== undefined && automatic.untilMs > (own?.untilMs ?? 0) ? automatic.reason : 'operator';
  }

  /** Sets the clients that are never restricted here. */
  spare(named: Iterable<RestrictedClient>): void {
    this.spared.setNamed(new Set(Array.from(named, client => digestOfWhom({ ...client, webhook: '' }))));
  }

  #withoutSpared(count: number): number {
    if (count === 0) return 0;
    let spared = 0;
    for (const digest of this.spared.all()) spared += this.withDigest(digest).length;
    return count - spared;
  }
}

/** Shows operators the current restrictions: of clients known by name, and those known only by their digest. */
export class RestrictionList {
  readonly #clock: Clock;
  readonly #tables: RestrictionTables;

  constructor(clock: Clock, tables: RestrictionTables) {
    this.#clock = clock;
    this.#tables = tables;
  }

  /** Returns restrictions of clients known by name, at most `max`. Each table gets its share, so that none hides the others. */
  byName(max: number): NamedRestriction[] {
    const nowMs = this.#nowMs();
    const found: NamedRestriction[] = [];
    for (const [i, table] of this.#tables.all.entries()) {
      const share = Math.ceil((max - found.length) / (this.#tables.all.length - i));
      found.push(...firstNamed(table, share, nowMs));
    }
    return found;
  }

  *all(): Generator<Restriction> {
    const nowMs = this.#nowMs();
    for (const table of this.#tables.all)
      for (const each of table.all()) if (this.#isShown(each, nowMs)) yield each;
  }

  /** Returns the restrictions with this digest: an automatic one, an operator's, or both. The one that ends last comes first. */
  withDigest(digest: string): Restriction[] {
    const nowMs = this.#nowMs();
    return this.#tables
      .withDigest(digest)
      .filter(each => this.#isShown(each, nowMs))
      .sort((one, other) => other.untilMs - one.untilMs);
  }

  ofClient(client: RestrictedClient): Restriction[] {
    return this.withDigest(digestOfWhom({ ...client, webhook: '' }));
  }

  #isShown(restriction: Restriction, nowMs: number): boolean {
    return (
      !isOver(restriction, nowMs) && (isNamed(restriction) || !this.#tables.spared.has(restriction.digest))
    );
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}

function firstNamed(table: RestrictionTable, max: number, nowMs: number): NamedRestriction[] {
  const found: NamedRestriction[] = [];
  for (const each of table.all()) {
    if (found.length >= max) return found;
    if (isNamed(each) && !isOver(each, nowMs)) found.push(each);
  }
  return found;
}
