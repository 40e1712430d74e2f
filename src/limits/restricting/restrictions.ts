import type { Clock, RestrictedKind, RestrictionReason } from '../../core/index.ts';
import { ownString } from '../../core/index.ts';
import { Lifts } from './lifts.ts';
import type {
  AnonymousRestriction,
  Entry,
  Held,
  KnownClient,
  Lift,
  Restricted,
  RestrictedClient,
  Restriction,
  RestrictionListener,
  RestrictionsOptions,
  RestrictionThread,
} from './restriction.ts';
import { announced, digestOfNetwork, digestOfWhom, isHeld, isOver, slackOf, tableOf } from './restriction.ts';
import { RestrictionList, type RestrictionTable, RestrictionTables } from './restriction-table.ts';

/** An announcement comes back from other processes, prolonged by its travel time; differences up to this are ignored. */
const ECHO_MS = 250;
/** An address restricted on more webhooks at once is itself restricted. */
const MAX_WEBHOOKS = 100;
const NOBODY = { reason: null, untilMs: 0 };

/**
 * Called when a client starts over. `isResponsible`: this thread has to forget what all threads of the process count of the client
 * together; else another thread does.
 */
type WhenLifted = (restriction: Restriction, isResponsible: boolean) => void;

/**
 * Knows which clients are currently restricted. Every request is checked here first, so a check is one lookup per table, and none
 * while there are no restrictions. A restriction from another gateway is known only by a digest until its client sends a request.
 * While such restrictions exist, each check of that kind needs the client's digest, which a `KnownClient` keeps.
 */
export class Restrictions {
  /** The restrictions that operators are shown. */
  readonly listed: RestrictionList;
  readonly #clock: Clock;
  readonly #listener: RestrictionListener;
  readonly #options: RestrictionsOptions;
  readonly #thread: RestrictionThread | null;
  readonly #tables: RestrictionTables;
  readonly #lifts = new Lifts();
  readonly #whenLifted: WhenLifted[] = [];
  #isOnList: (key: string) => boolean = () => false;
  /** True if all tables are empty, as they usually are. */
  #isEmpty = true;

  constructor(options: RestrictionsOptions) {
    this.#clock = options.clock;
    this.#listener = options.listener;
    this.#options = options;
    this.#thread = options.thread ?? null;
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
      for (const entry of table.all()) if (isHeld(entry) && isOnList(entry.key)) this.lift(entry.digest);
  }

  /** Whether nothing from this address or principal may lead to a restriction. */
  isExempt(key: string): boolean {
    return this.#isOnList(key);
  }

  /**
   * Restricts a client for `forMs`. Does nothing if it is on the allow list, or restricted for longer in the same table. An
   * address on too many webhooks is itself restricted.
   */
  restrict(whom: Restricted, forMs: number): void {
    if (this.isExempt(whom.key)) return;
    const held = this.#hold(whom, this.#nowMs() + forMs, forMs);
    if (held === null) return;
    this.#options.announce?.({ ...this.#announced(held), forMs });
    const webhooks = this.#tables.named('webhook');
    if (!isOnTooMany(webhooks, held.owner, this.#nowMs(), over => this.#release(over))) return;
    this.restrict({ kind: 'address', key: whom.key, webhook: '', reason: whom.reason }, forMs);
    this.#mergeWebhooks(held.owner, true);
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
    this.#options.announceLift?.(lift);
    return true;
  }

  /** Adopts a lift made by another gateway. */
  adoptLift(lift: Lift): void {
    if (this.#lifts.learn(lift, this.#nowMs())) this.#drop(lift, this.#isResponsibleForOthers);
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
    if (before === undefined) this.#addAdopted(table, told);
    else if (this.#goesBeyond(told, before)) this.#continue(table, before, told);
    const entry = table.withDigest(digest);
    if (entry?.kind === 'address' && entry.reason === 'webhook_not_found')
      this.#mergeWebhooks(digest, this.#isResponsibleForOthers);
    if (whom !== undefined && entry !== undefined && !isHeld(entry))
      this.#identify(table, entry, whom.key, whom.webhook);
  }

  /** Whether a restriction reported by another gateway ends later than the one known here, or began after a later lift. */
  #goesBeyond(told: AnonymousRestriction, before: Entry): boolean {
    if (told.lifts !== before.lifts) return told.lifts > before.lifts;
    const echoMs = isHeld(before) && told.whom === undefined ? ECHO_MS : 0;
    return this.#endOf(told) > before.untilMs + echoMs;
  }

  /** Prolongs a restriction as reported. If it is over, a new one begins, as after a sweep. */
  #continue(table: RestrictionTable, before: Entry, told: AnonymousRestriction): void {
    if (isOver(before, this.#nowMs())) {
      this.#release(before);
      this.#addAdopted(table, told);
      return;
    }
    const { lifts, reason, whom } = told;
    const sinceEpochMs = lifts > before.lifts ? this.#sinceOf(told) : before.sinceEpochMs;
    const prolonged = { ...this.#prolonged(before, this.#endOf(told), lifts), reason, sinceEpochMs };
    table.set(prolonged);
    if (isHeld(prolonged) && whom !== undefined) this.#listener.prolonged(prolonged);
  }

  #addAdopted(table: RestrictionTable, told: AnonymousRestriction): void {
    const { kind, digest, reason, forMs, lifts, network, owner } = told;
    if (this.#isMerged(told)) return;
    const sinceEpochMs = this.#sinceOf(told);
    const untilEpochMs = this.#epochOf(this.#nowMs()) + forMs;
    this.#add(table, {
      kind,
      key: null,
      webhook: '',
      reason,
      digest,
      lifts,
      place: 0,
      sinceEpochMs,
      untilEpochMs,
      untilMs: this.#endOf(told),
      slackMs: slackOf(untilEpochMs - sinceEpochMs),
      network,
      owner,
    });
  }

  /** Iterates over all current restrictions, as they would be announced now. */
  *running(): Generator<AnonymousRestriction> {
    const nowMs = this.#nowMs();
    for (const table of this.#tables.all)
      for (const entry of table.all()) if (entry.untilMs > nowMs) yield this.#announced(entry);
  }

  isRestricted({ kind, key, webhook }: Restricted): boolean {
    return this.#waitMs(kind, key, webhook, null) > 0;
  }

  /** Milliseconds until the client is released, at least 1; 0 if it is not restricted. */
  waitMs(client: KnownClient): number {
    return this.#waitMs(client.kind, client.key, '', client);
  }

  addressWaitMs(address: string): number {
    return this.#waitMs('address', address, '', null);
  }

  principalWaitMs(principal: string): number {
    return this.#waitMs('principal', principal, '', null);
  }

  webhookWaitMs(address: string, webhook: string): number {
    return this.#waitMs('webhook', address, webhook, null);
  }

  /** Returns why a client has to wait: the reason of the restriction that ends last. */
  reasonFor(client: RestrictedClient): RestrictionReason {
    return this.#tables.reasonFor(client);
  }

  /** Drops expired restrictions. Call it about once a second, so that the listener is notified in time. */
  sweep(): void {
    const nowMs = this.#nowMs();
    this.#lifts.sweep(nowMs);
    for (const table of this.#tables.all) for (const entry of table.over(nowMs)) this.#release(entry);
    this.#isEmpty = this.#tables.all.every(({ size }) => size === 0);
  }

  /** Adds a restriction until that time, or prolongs the existing one; `null` if that changes nothing. */
  #hold(whom: Restricted, untilMs: number, forMs: number): Held | null {
    const { kind, key, webhook, reason } = whom;
    const table = this.#tables.of(whom);
    const nowMs = this.#nowMs();
    const found = table.held(kind, key, webhook) ?? this.#meet(table, kind, key, webhook, null);
    const before = this.#inForce(found, nowMs);
    if (before !== null && before.untilMs >= untilMs) return null;
    if (before !== null) {
      // The lift that it began after may be forgotten: with a smaller count, other gateways would ignore this.
      const held = { ...this.#prolonged(before, untilMs, before.lifts), reason };
      table.set(held);
      this.#listener.prolonged(held);
      return held;
    }
    const digest = ownString(digestOfWhom(whom));
    const held: Held = {
      kind,
      key,
      webhook,
      reason,
      digest,
      lifts: this.#lifts.of(digest, nowMs),
      place: 0,
      sinceEpochMs: this.#epochOf(nowMs),
      untilEpochMs: this.#epochOf(untilMs),
      untilMs,
      slackMs: slackOf(forMs),
      network: kind === 'principal' ? '' : digestOfNetwork(this.#options.networkOf?.(key) ?? ''),
      owner: kind === 'webhook' ? ownString(digestOfWhom({ kind: 'address', key, webhook: '' })) : '',
    };
    if (this.#isMerged(held)) return null;
    this.#add(table, held);
    this.#listener.restricted(held);
    return held;
  }

  /**
   * Whether the webhook's restriction is included in one of the whole address. Other gateways still report such webhooks, and
   * offences on them, for a moment after the merge.
   */
  #isMerged({ owner }: Pick<Entry, 'owner'>): boolean {
    const { reason, untilMs } = this.#tables.named('address').withDigest(owner) ?? NOBODY;
    return reason === 'webhook_not_found' && untilMs > this.#nowMs();
  }

  /** Adds a restriction that is not in the table. If the table is full, evicts another one. */
  #add(table: RestrictionTable, entry: Entry): void {
    const { evictable } = table;
    if (evictable !== undefined && table.isFull && table.withDigest(entry.digest) === undefined)
      this.#evict(evictable);
    table.set(entry);
    this.#isEmpty = false;
  }

  #evict(entry: Entry): void {
    if (isOver(entry, this.#nowMs())) {
      this.#release(entry);
      return;
    }
    this.#giveUp(entry);
    this.#listener.evicted({ ...entry, table: tableOf(entry) });
  }

  /** Removes a restriction that another gateway may still hold. */
  #giveUp(entry: Entry): void {
    this.#tables.delete(entry);
    this.#options.withdraw?.(this.#announced(entry));
  }

  /**
   * Ends the restrictions of an address on webhooks, because the address itself is restricted from now on. On each webhook, it
   * starts over.
   */
  #mergeWebhooks(owner: string, isResponsible: boolean): void {
    for (const entry of [...this.#tables.named('webhook').ofOwner(owner)]) {
      this.#giveUp(entry);
      if (isHeld(entry)) this.#notifyEnd(entry, isResponsible);
    }
  }

  /** @param known caches the client's digest; if `null`, the digest is computed when needed */
  #waitMs(kind: RestrictedKind, key: string, webhook: string, known: KnownClient | null): number {
    if (this.#isEmpty) return 0;
    const wait = this.#waitIn(this.#tables.named(kind), kind, key, webhook, known);
    return kind === 'webhook'
      ? wait
      : Math.max(wait, this.#waitIn(this.#tables.named('operator'), kind, key, '', known));
  }

  #waitIn(
    table: RestrictionTable,
    kind: RestrictedKind,
    key: string,
    webhook: string,
    known: KnownClient | null,
  ): number {
    if (table.isEmpty(kind)) return 0;
    const nowMs = this.#nowMs();
    const found = table.held(kind, key, webhook) ?? this.#meet(table, kind, key, webhook, known);
    const held = this.#inForce(found, nowMs);
    return held === null ? 0 : held.untilMs - nowMs;
  }

  /** Returns the restriction if it is still in force. Releases an expired one, before the sweep does. */
  #inForce(held: Held | null, nowMs: number): Held | null {
    if (held === null || !isOver(held, nowMs)) return held;
    this.#release(held);
    return null;
  }

  /** Learns the name of a client that is known only by digest, when it sends a request. */
  #meet(
    table: RestrictionTable,
    kind: RestrictedKind,
    key: string,
    webhook: string,
    known: KnownClient | null,
  ): Held | null {
    if (!table.hasUnmet(kind)) return null;
    const digest = known?.digest ?? digestOfWhom({ kind, key, webhook });
    const entry = table.withDigest(digest);
    if (entry === undefined || isOver(entry, this.#nowMs())) return null;
    const held = this.#identify(table, entry, key, webhook);
    if (held !== null) this.#thread?.met(this.#announced(held));
    return held;
  }

  /** Sets the client of a restriction; `null` if it is never restricted. */
  #identify(table: RestrictionTable, entry: Entry, key: string, webhook: string): Held | null {
    if (this.isExempt(key)) {
      this.#tables.spared.meet(entry.digest);
      return null;
    }
    const held = { ...entry, key, webhook };
    table.set(held);
    this.#listener.restricted(held);
    return held;
  }

  /** Whether this thread forgets offences of clients whose restrictions were ended by other processes. */
  get #isResponsibleForOthers(): boolean {
    return this.#thread === null || this.#thread.isMain;
  }

  /** Returns the restriction as it is announced to other gateways now. */
  #announced(entry: Entry): AnonymousRestriction {
    const told = announced(entry, this.#nowMs());
    if (!isHeld(entry) || this.#thread === null) return told;
    return { ...told, whom: { key: entry.key, webhook: entry.webhook, untilMs: entry.untilMs } };
  }

  /** When a restriction ends here. Threads of a process share a clock, and none refuses longer than the others. */
  #endOf({ forMs, whom }: AnonymousRestriction): number {
    return whom?.untilMs ?? this.#nowMs() + forMs;
  }

  /** When a restriction began. The clock of the announcing gateway may be ahead. */
  #sinceOf({ sinceEpochMs }: AnonymousRestriction): number {
    const epochMs = this.#epochOf(this.#nowMs());
    return Math.min(sinceEpochMs ?? epochMs, epochMs);
  }

  /** Ends the restriction that a lift refers to, unless it began later. */
  #drop({ digest, count }: Lift, isResponsible: boolean): void {
    for (const entry of this.#tables.withDigest(digest)) {
      if (entry.lifts >= count) continue;
      this.#tables.delete(entry);
      if (isHeld(entry)) this.#notifyEnd(entry, isResponsible);
    }
  }

  #release(entry: Entry): void {
    this.#tables.delete(entry);
    if (isHeld(entry)) this.#notifyEnd(entry, null);
  }

  /** @param isResponsible see `WhenLifted`; `null` if the client does not start over */
  #notifyEnd(held: Held, isResponsible: boolean | null): void {
    this.#listener.released(held);
    if (isResponsible !== null) for (const lifted of this.#whenLifted) lifted(held, isResponsible);
  }

  /** Returns the restriction with a later end. */
  #prolonged<T extends Entry>(entry: T, untilMs: number, lifts: number): T {
    return { ...entry, untilMs, untilEpochMs: entry.untilEpochMs + untilMs - entry.untilMs, lifts };
  }

  #epochOf(monotonicMs: number): number {
    return Math.floor(this.#clock.epochMs()) + monotonicMs - this.#nowMs();
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}

/**
 * Whether an address is restricted on so many webhooks at once that it is itself restricted. Calls `end` for expired ones, as the
 * next sweep would.
 *
 * @param owner '' for a client that is not a webhook's caller
 */
function isOnTooMany(
  table: RestrictionTable,
  owner: string,
  nowMs: number,
  end: (over: Entry) => void,
): boolean {
  if (table.ofOwner(owner).length <= MAX_WEBHOOKS) return false;
  for (const entry of [...table.ofOwner(owner)]) if (isOver(entry, nowMs)) end(entry);
  return table.ofOwner(owner).length > MAX_WEBHOOKS;
}
