import { ownString } from '../../core/index.ts';
import type { Announcer } from './announcer.ts';
import { Lifts } from './lifts.ts';
import type {
  Lift,
  NamedRestriction,
  Restricted,
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
  prolonged,
  tableOf,
} from './restriction.ts';
import type { RestrictionTable, RestrictionTables } from './restriction-table.ts';

/**
 * Called when a client starts over. `isResponsible`: this thread has to forget what all threads of the process count of the client
 * together; else another thread does.
 */
export type WhenLifted = (whom: Whom, isResponsible: boolean) => void;

/** Enters restrictions into their tables, names and ends them, and notifies the listener. */
export class HeldRestrictions {
  readonly tables: RestrictionTables;
  readonly lifts = new Lifts();
  /** True if all tables are empty, as they usually are. */
  isEmpty = true;
  /** Whether nothing from this address or principal may lead to a restriction. */
  isExempt: (key: string) => boolean = () => false;
  readonly whenLifted: WhenLifted[] = [];
  readonly #listener: RestrictionListener;
  readonly #announcer: Announcer;
  readonly #networkOf: (address: string) => string;

  constructor(
    tables: RestrictionTables,
    listener: RestrictionListener,
    announcer: Announcer,
    networkOf: (address: string) => string,
  ) {
    this.tables = tables;
    this.#listener = listener;
    this.#announcer = announcer;
    this.#networkOf = networkOf;
  }

  /** Returns the restriction of a client if it is in force. Releases an expired one, before the sweep does. */
  find(table: RestrictionTable, whom: Whom): NamedRestriction | null {
    const found = table.find(whom) ?? this.#meet(table, whom);
    if (found === null || !isOver(found, this.#announcer.nowMs())) return found;
    this.release(found);
    return null;
  }

  /** Adds a restriction until that time, or prolongs the existing one; `null` if that changes nothing. */
  enter(whom: Restricted, untilMs: number): NamedRestriction | null {
    const { kind, key, webhook, reason } = whom;
    const before = this.find(this.tables.of(whom), whom);
    if (before !== null && before.untilMs >= untilMs) return null;
    if (before !== null) {
      // The lift that it began after may be forgotten: with a smaller count, other gateways would ignore this.
      const longer = { ...prolonged(before, untilMs), reason };
      this.prolong(longer);
      return longer;
    }
    const nowMs = this.#announcer.nowMs();
    const digest = ownString(digestOfWhom(whom));
    const begun = newRestriction({
      kind,
      key,
      webhook,
      reason,
      digest,
      lifts: this.lifts.of(digest, nowMs),
      sinceEpochMs: this.#announcer.epochOf(nowMs),
      untilEpochMs: this.#announcer.epochOf(untilMs),
      untilMs,
      network: kind === 'principal' ? '' : digestOfNetwork(this.#networkOf(key)),
      owner: kind === 'webhook' ? ownString(digestOfWhom({ kind: 'address', key, webhook: '' })) : '',
    });
    this.add(begun);
    return begun;
  }

  /** Adds a restriction that is not in its table. If that is full, evicts another one. */
  add(restriction: Restriction): void {
    const table = this.tables.of(restriction);
    const { evictable } = table;
    if (evictable !== undefined && table.isFull && table.withDigest(restriction.digest) === undefined)
      this.#evict(evictable);
    table.set(restriction);
    this.isEmpty = false;
    if (isNamed(restriction)) this.#listener.restricted(restriction);
  }

  /** Replaces a restriction by one that ends later. */
  prolong(longer: NamedRestriction): void {
    this.tables.of(longer).set(longer);
    this.#listener.prolonged(longer);
  }

  /** Sets the client of a restriction; `null` if it is never restricted. */
  identify(
    restriction: Restriction,
    { key, webhook }: Pick<Whom, 'key' | 'webhook'>,
  ): NamedRestriction | null {
    if (this.isExempt(key)) {
      this.tables.spared.meet(restriction.digest);
      return null;
    }
    const named = { ...restriction, key, webhook };
    this.tables.of(named).set(named);
    this.#listener.restricted(named);
    return named;
  }

  /** Ends the restrictions that a lift refers to, unless they began later. `isResponsible`: see `WhenLifted`. */
  drop({ digest, count }: Lift, isResponsible: boolean): void {
    for (const each of this.tables.withDigest(digest)) {
      if (each.lifts >= count) continue;
      this.release(each);
      if (isNamed(each)) for (const lifted of this.whenLifted) lifted(each, isResponsible);
    }
  }

  /** Ends a restriction. Its client does not start over. */
  release(restriction: Restriction): void {
    this.tables.delete(restriction);
    if (isNamed(restriction)) this.#listener.released(restriction);
  }

  sweep(): void {
    const nowMs = this.#announcer.nowMs();
    this.lifts.sweep(nowMs);
    for (const table of this.tables.all) for (const each of table.over(nowMs)) this.release(each);
    this.isEmpty = this.tables.all.every(({ size }) => size === 0);
  }

  #evict(restriction: Restriction): void {
    if (isOver(restriction, this.#announcer.nowMs())) {
      this.release(restriction);
      return;
    }
    this.tables.delete(restriction);
    this.#announcer.evicted(restriction);
    this.#listener.evicted({ ...restriction, table: tableOf(restriction) });
  }

  /** Learns the name of a client that is known only by digest, when it sends a request. */
  #meet(table: RestrictionTable, whom: Whom): NamedRestriction | null {
    if (!table.hasUnmet(whom.kind)) return null;
    const restriction = table.withDigest(whom instanceof KnownClient ? whom.digest : digestOfWhom(whom));
    if (restriction === undefined || isOver(restriction, this.#announcer.nowMs())) return null;
    const named = this.identify(restriction, whom);
    if (named !== null) this.#announcer.met(named);
    return named;
  }
}
