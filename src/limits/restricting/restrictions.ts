import type { Clock, RestrictionReason, RestrictionTableName } from '../../core/index.ts';
import { ownString } from '../../core/index.ts';
import { Announcer, type Others } from './announcer.ts';
import { Lifts } from './lifts.ts';
import type {
  AnonymousRestriction,
  Lift,
  NamedRestriction,
  Restricted,
  RestrictedClient,
  Restriction,
  RestrictionListener,
  Whom,
} from './restriction.ts';
import {
  digestOfNetwork,
  digestOfWhom,
  isNamed,
  isOver,
  KnownClient,
  newRestriction,
  tableOf,
} from './restriction.ts';
import { RestrictionList, type RestrictionTable, RestrictionTables } from './restriction-table.ts';

interface RestrictionsOptions {
  readonly clock: Clock;
  readonly listener: RestrictionListener;
  /** `NO_OTHERS` for a gateway on its own. */
  readonly others: Others;
  /**
   * Maximum restrictions held in each table. Default 10,000 by operators, 50,000 of principals, 100,000 of addresses, 50,000 on
   * webhooks.
   */
  readonly places?: Readonly<Record<RestrictionTableName, number>>;
  /** Returns the network of an address, given its key. Default: all addresses have the same. */
  readonly networkOf?: (address: string) => string;
}

/** An address restricted on more webhooks at once is itself restricted. */
const MAX_WEBHOOKS = 100;

/**
 * Called when a client starts over. `isResponsible`: this thread has to forget what all threads of the process count of the client
 * together; else another thread does.
 */
type WhenLifted = (whom: Whom, isResponsible: boolean) => void;

/**
 * Knows which clients are currently restricted. Every request is checked here first, so a check is one lookup per table, and none
 * while there are no restrictions. A restriction from another gateway is known only by a digest until its client sends a request.
 * While such restrictions exist, each check of that kind needs the client's digest, which a `KnownClient` keeps.
 */
export class Restrictions {
  /** The restrictions that operators are shown. */
  readonly listed: RestrictionList;
  readonly #listener: RestrictionListener;
  readonly #networkOf: (address: string) => string;
  readonly #announcer: Announcer;
  readonly #tables: RestrictionTables;
  readonly #lifts = new Lifts();
  readonly #whenLifted: WhenLifted[] = [];
  #isOnList: (key: string) => boolean = () => false;
  /** True if all tables are empty, as they usually are. */
  #isEmpty = true;

  constructor(options: RestrictionsOptions) {
    this.#listener = options.listener;
    this.#networkOf = options.networkOf ?? (() => '');
    this.#announcer = new Announcer(options.clock, options.others);
    this.#tables = new RestrictionTables(options.places);
    this.listed = new RestrictionList(options.clock, this.#tables);
  }

  /** Restrictions that refuse a client here. */
  get size(): number {
    return this.#tables.size;
  }

  /** Restrictions from other gateways whose clients were not seen here. */
  get adopted(): number {
    return this.#tables.unmet;
  }

  /**
   * Sets who is never restricted; `named`: those listed individually. Lifts restrictions of clients known by name, also at
   * gateways that know only the digest.
   */
  neverRestrict(isOnList: (key: string) => boolean, named: Iterable<RestrictedClient> = []): void {
    this.#isOnList = isOnList;
    this.#tables.spare(named);
    for (const table of this.#tables.all)
      for (const each of table.all()) if (isNamed(each) && isOnList(each.key)) this.lift(each.digest);
  }

  /** Whether nothing from this address or principal may lead to a restriction. */
  isExempt(key: string): boolean {
    return this.#isOnList(key);
  }

  isRestricted(whom: Whom): boolean {
    return this.waitMs(whom) > 0;
  }

  webhookWaitMs(address: string, webhook: string): number {
    return this.#isEmpty ? 0 : this.waitMs({ kind: 'webhook', key: address, webhook });
  }

  /** Milliseconds until the client is released, at least 1; 0 if it is not restricted. */
  waitMs(whom: Whom): number {
    if (this.#isEmpty) return 0;
    const waitMs = this.#waitIn(this.#tables.named(whom.kind), whom);
    return whom.kind === 'webhook'
      ? waitMs
      : Math.max(waitMs, this.#waitIn(this.#tables.named('operator'), whom));
  }

  /** Returns why a client has to wait: the reason of the restriction that ends last. */
  reasonFor(client: RestrictedClient): RestrictionReason {
    return this.#tables.reasonFor(client);
  }

  /**
   * Restricts a client for `forMs`. Does nothing if it is on the allow list, or restricted for longer in the same table. An
   * address on too many webhooks is itself restricted.
   */
  restrict(whom: Restricted, forMs: number): void {
    if (this.isExempt(whom.key)) return;
    const restriction = this.#hold(whom, this.#nowMs() + forMs);
    if (restriction === null) return;
    this.#announcer.began(restriction, forMs);
    if (this.#isOnTooManyWebhooks(restriction.owner))
      this.restrict({ kind: 'address', key: whom.key, webhook: '', reason: whom.reason }, forMs);
  }

  /** Registers a callback for each client that is lifted, here or elsewhere, and whose name is known here. */
  onLift(lifted: WhenLifted): void {
    this.#whenLifted.push(lifted);
  }

  /** Lifts the restrictions with this digest, at all gateways. False if there was none. */
  lift(digest: string): boolean {
    const found = this.#tables.withDigest(digest);
    if (found.length === 0) return false;
    const lift = this.#lifts.add(digest, found, this.#nowMs());
    this.#drop(lift, true);
    this.#announcer.lifted(lift);
    // Otherwise its next dead webhook would restrict it again.
    if (found.some(({ kind, reason }) => kind === 'address' && reason === 'webhook_not_found'))
      for (const each of [...this.#tables.named('webhook').ofOwner(digest)]) this.lift(each.digest);
    return true;
  }

  adoptLift(lift: Lift): void {
    if (this.#lifts.learn(lift, this.#nowMs())) this.#drop(lift, this.#announcer.isResponsibleForOthers);
  }

  /** Iterates over all lifts that another gateway could contradict, as they would be announced now. */
  lifted(): Iterable<Lift> {
    return this.#lifts.running(this.#nowMs());
  }

  /** Adopts a restriction from another gateway. Never shortens one held here. */
  adopt(told: AnonymousRestriction): void {
    const { digest, lifts, whom } = told;
    if (lifts < this.#lifts.of(digest, this.#nowMs())) return;
    const table = this.#tables.of(told);
    const before = table.withDigest(digest);
    if (before === undefined) this.#add(table, this.#announcer.restrictionOf(told));
    else if (this.#announcer.goesBeyond(told, before)) this.#continue(table, before, told);
    const restriction = table.withDigest(digest);
    if (whom !== undefined && restriction !== undefined && !isNamed(restriction))
      this.#identify(table, restriction, whom);
  }

  /** Iterates over all current restrictions, as they would be announced now. */
  *running(): Generator<AnonymousRestriction> {
    const nowMs = this.#nowMs();
    for (const table of this.#tables.all)
      for (const each of table.all()) if (each.untilMs > nowMs) yield this.#announcer.announced(each);
  }

  /** Drops expired restrictions. Call it about once a second, so that the listener is notified in time. */
  sweep(): void {
    const nowMs = this.#nowMs();
    this.#lifts.sweep(nowMs);
    for (const table of this.#tables.all) for (const each of table.over(nowMs)) this.#release(each);
    this.#isEmpty = this.#tables.all.every(({ size }) => size === 0);
  }

  /** Prolongs a restriction as reported. If it is over, a new one begins, as after a sweep. */
  #continue(table: RestrictionTable, before: Restriction, told: AnonymousRestriction): void {
    if (isOver(before, this.#nowMs())) {
      this.#release(before);
      this.#add(table, this.#announcer.restrictionOf(told));
      return;
    }
    const { lifts, reason, whom } = told;
    const sinceEpochMs = lifts > before.lifts ? this.#announcer.sinceOf(told) : before.sinceEpochMs;
    const longer = { ...prolonged(before, this.#announcer.endOf(told)), lifts, reason, sinceEpochMs };
    table.set(longer);
    if (isNamed(longer) && whom !== undefined) this.#listener.prolonged(longer);
  }

  /** Adds a restriction until that time, or prolongs the existing one; `null` if that changes nothing. */
  #hold(whom: Restricted, untilMs: number): NamedRestriction | null {
    const { kind, key, webhook, reason } = whom;
    const table = this.#tables.of(whom);
    const before = this.#find(table, whom);
    if (before !== null && before.untilMs >= untilMs) return null;
    if (before !== null) {
      // The lift that it began after may be forgotten: with a smaller count, other gateways would ignore this.
      const longer = { ...prolonged(before, untilMs), reason };
      table.set(longer);
      this.#listener.prolonged(longer);
      return longer;
    }
    const nowMs = this.#nowMs();
    const digest = ownString(digestOfWhom(whom));
    const begun = newRestriction({
      kind,
      key,
      webhook,
      reason,
      digest,
      lifts: this.#lifts.of(digest, nowMs),
      sinceEpochMs: this.#announcer.epochOf(nowMs),
      untilEpochMs: this.#announcer.epochOf(untilMs),
      untilMs,
      network: kind === 'principal' ? '' : digestOfNetwork(this.#networkOf(key)),
      owner: kind === 'webhook' ? ownString(digestOfWhom({ kind: 'address', key, webhook: '' })) : '',
    });
    this.#add(table, begun);
    this.#listener.restricted(begun);
    return begun;
  }

  /** Adds a restriction that is not in the table. If the table is full, evicts another one. */
  #add(table: RestrictionTable, restriction: Restriction): void {
    const { evictable } = table;
    if (evictable !== undefined && table.isFull && table.withDigest(restriction.digest) === undefined)
      this.#evict(evictable);
    table.set(restriction);
    this.#isEmpty = false;
  }

  #evict(restriction: Restriction): void {
    if (isOver(restriction, this.#nowMs())) {
      this.#release(restriction);
      return;
    }
    this.#tables.delete(restriction);
    this.#announcer.evicted(restriction);
    this.#listener.evicted({ ...restriction, table: tableOf(restriction) });
  }

  /** Whether an address is restricted on so many webhooks at once that it is itself restricted. `owner`: '' for another client. */
  #isOnTooManyWebhooks(owner: string): boolean {
    const webhooks = this.#tables.named('webhook');
    if (webhooks.ofOwner(owner).length <= MAX_WEBHOOKS) return false;
    const nowMs = this.#nowMs();
    for (const each of [...webhooks.ofOwner(owner)]) if (isOver(each, nowMs)) this.#release(each);
    return webhooks.ofOwner(owner).length > MAX_WEBHOOKS;
  }

  #waitIn(table: RestrictionTable, whom: Whom): number {
    if (table.isEmpty(whom.kind)) return 0;
    const found = this.#find(table, whom);
    return found === null ? 0 : found.untilMs - this.#nowMs();
  }

  /** Returns the restriction of a client if it is in force. Releases an expired one, before the sweep does. */
  #find(table: RestrictionTable, whom: Whom): NamedRestriction | null {
    const found = table.find(whom) ?? this.#meet(table, whom);
    if (found === null || !isOver(found, this.#nowMs())) return found;
    this.#release(found);
    return null;
  }

  /** Learns the name of a client that is known only by digest, when it sends a request. */
  #meet(table: RestrictionTable, whom: Whom): NamedRestriction | null {
    if (!table.hasUnmet(whom.kind)) return null;
    const restriction = table.withDigest(whom instanceof KnownClient ? whom.digest : digestOfWhom(whom));
    if (restriction === undefined || isOver(restriction, this.#nowMs())) return null;
    const named = this.#identify(table, restriction, whom);
    if (named !== null) this.#announcer.met(named);
    return named;
  }

  /** Sets the client of a restriction; `null` if it is never restricted. */
  #identify(
    table: RestrictionTable,
    restriction: Restriction,
    { key, webhook }: Pick<Whom, 'key' | 'webhook'>,
  ): NamedRestriction | null {
    if (this.isExempt(key)) {
      this.#tables.spared.meet(restriction.digest);
      return null;
    }
    const named = { ...restriction, key, webhook };
    table.set(named);
    this.#listener.restricted(named);
    return named;
  }

  /** Ends the restriction that a lift refers to, unless it began later. */
  #drop({ digest, count }: Lift, isResponsible: boolean): void {
    for (const each of this.#tables.withDigest(digest)) {
      if (each.lifts >= count) continue;
      this.#tables.delete(each);
      this.#notifyEnd(each, isResponsible);
    }
  }

  #release(restriction: Restriction): void {
    this.#tables.delete(restriction);
    this.#notifyEnd(restriction, null);
  }

  /** @param isResponsible see `WhenLifted`; `null` if the client does not start over */
  #notifyEnd(restriction: Restriction, isResponsible: boolean | null): void {
    if (!isNamed(restriction)) return;
    this.#listener.released(restriction);
    if (isResponsible !== null) for (const lifted of this.#whenLifted) lifted(restriction, isResponsible);
  }

  #nowMs(): number {
    return this.#announcer.nowMs();
  }
}

function prolonged<T extends Restriction>(restriction: T, untilMs: number): T {
  const untilEpochMs = restriction.untilEpochMs + untilMs - restriction.untilMs;
  return { ...restriction, untilMs, untilEpochMs };
}
