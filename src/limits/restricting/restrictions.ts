import type { Clock, RestrictionReason, RestrictionTableName } from '../../core/index.ts';
import { Announcer, type Others } from './announcer.ts';
import { Gossip } from './gossip.ts';
import { HeldRestrictions, type WhenLifted } from './held-restrictions.ts';
import type { Restricted, RestrictedClient, RestrictionListener, Whom } from './restriction.ts';
import { isNamed, isOver } from './restriction.ts';
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
 * Knows which clients are currently restricted. Every request is checked here first, so a check is one lookup per table, and none
 * while there are no restrictions. A restriction from another gateway is known only by a digest until its client sends a request.
 * While such restrictions exist, each check of that kind needs the client's digest, which a `KnownClient` keeps.
 */
export class Restrictions {
  /** The restrictions that operators are shown. */
  readonly listed: RestrictionList;
  /** What others tell of restrictions. */
  readonly gossip: Gossip;
  readonly #announcer: Announcer;
  readonly #tables: RestrictionTables;
  readonly #held: HeldRestrictions;

  constructor({ clock, listener, others, places, networkOf = () => '' }: RestrictionsOptions) {
    this.#announcer = new Announcer(clock, others);
    this.#tables = new RestrictionTables(places);
    this.#held = new HeldRestrictions(this.#tables, listener, this.#announcer, networkOf);
    this.gossip = new Gossip(this.#held, this.#announcer);
    this.listed = new RestrictionList(clock, this.#tables);
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
    this.#held.isExempt = isOnList;
    this.#tables.spare(named);
    for (const table of this.#tables.all)
      for (const each of table.all()) if (isNamed(each) && isOnList(each.key)) this.lift(each.digest);
  }

  /** Whether nothing from this address or principal may lead to a restriction. */
  isExempt(key: string): boolean {
    return this.#held.isExempt(key);
  }

  isRestricted(whom: Whom): boolean {
    return this.waitMs(whom) > 0;
  }

  webhookWaitMs(address: string, webhook: string): number {
    return this.#held.isEmpty ? 0 : this.waitMs({ kind: 'webhook', key: address, webhook });
  }

  /** Milliseconds until the client is released, at least 1; 0 if it is not restricted. */
  waitMs(whom: Whom): number {
    if (this.#held.isEmpty) return 0;
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
    const restriction = this.#held.enter(whom, this.#announcer.nowMs() + forMs);
    if (restriction === null) return;
    this.#announcer.began(restriction, forMs);
    if (this.#isOnTooManyWebhooks(restriction.owner))
      this.restrict({ kind: 'address', key: whom.key, webhook: '', reason: whom.reason }, forMs);
  }

  /** Registers a callback for each client that is lifted, here or elsewhere, and whose name is known here. */
  onLift(lifted: WhenLifted): void {
    this.#held.whenLifted.push(lifted);
  }

  /** Lifts the restrictions with this digest, at all gateways. False if there was none. */
  lift(digest: string): boolean {
    const found = this.#tables.withDigest(digest);
    if (found.length === 0) return false;
    const lift = this.#held.lifts.add(digest, found, this.#announcer.nowMs());
    this.#held.drop(lift, true);
    this.#announcer.lifted(lift);
    // Otherwise its next dead webhook would restrict it again.
    if (found.some(({ kind, reason }) => kind === 'address' && reason === 'webhook_not_found'))
      for (const each of [...this.#tables.named('webhook').ofOwner(digest)]) this.lift(each.digest);
    return true;
  }

  /** Drops expired restrictions. Call it about once a second, so that the listener is notified in time. */
  sweep(): void {
    this.#held.sweep();
  }

  /** Whether an address is restricted on so many webhooks at once that it is itself restricted. `owner`: '' for another client. */
  #isOnTooManyWebhooks(owner: string): boolean {
    const webhooks = this.#tables.named('webhook');
    if (webhooks.ofOwner(owner).length <= MAX_WEBHOOKS) return false;
    const nowMs = this.#announcer.nowMs();
    for (const each of [...webhooks.ofOwner(owner)]) if (isOver(each, nowMs)) this.#held.release(each);
    return webhooks.ofOwner(owner).length > MAX_WEBHOOKS;
  }

  #waitIn(table: RestrictionTable, whom: Whom): number {
    if (table.isEmpty(whom.kind)) return 0;
    const found = this.#held.find(table, whom);
    return found === null ? 0 : found.untilMs - this.#announcer.nowMs();
  }
}
