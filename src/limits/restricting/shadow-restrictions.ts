import {
  type Clock,
  RESTRICTED_KINDS,
  RESTRICTION_REASONS,
  type RestrictedKind,
  type RestrictionReason,
} from '../../core/index.ts';
import { type Held, isHeld, type Restricted } from './restriction.ts';
import { RestrictionTable } from './restriction-table.ts';
import { MAX_WEBHOOKS } from './restrictions.ts';

export interface ShadowRestrictionsOptions {
  readonly clock: Clock;
  /** Called once for each restriction that would begin. */
  readonly began: (whom: Restricted, forMs: number) => void;
  /** Most held of each kind for each reason. Default 100,000. */
  readonly maxOfKind?: number;
  /** Returns the network of an address, given its key, as for restrictions that hold. */
  readonly networkOf?: (address: string) => string;
}

/** A restriction that would be in force. */
export interface ShadowRestriction {
  readonly reason: RestrictionReason;
  /** A principal or the key of an address. */
  readonly key: string;
  readonly untilEpochMs: number;
}

/**
 * Knows who would be restricted by the rules in shadow. Refuses nobody, and is not shared with other gateways. What gives way in a
 * full table is what would if the rules held.
 */
export class ShadowRestrictions {
  readonly #options: ShadowRestrictionsOptions;
  readonly #tables: ReadonlyMap<RestrictionReason, Readonly<Record<RestrictedKind, RestrictionTable>>>;
  #isEmpty = true;

  constructor(options: ShadowRestrictionsOptions) {
    this.#options = options;
    const newTable = () => new RestrictionTable(options.maxOfKind ?? 100_000);
    const newTables = () => ({ address: newTable(), principal: newTable(), webhook: newTable() });
    this.#tables = new Map(RESTRICTION_REASONS.map(reason => [reason, newTables()]));
  }

  /** Whether no restriction would hold. It is read for every request. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Notes a restriction. Does nothing while one is running: its end is set once, as if it held. */
  restrict(whom: Restricted, forMs: number): void {
    const { kind, key, webhook, reason } = whom;
    const nowMs = this.#options.clock.monotonicMs();
    const table = this.#tables.get(reason)?.[kind];
    if (table === undefined || (table.held(kind, key, webhook)?.untilMs ?? 0) > nowMs) return;
    const held = this.#entryOf(whom, nowMs + forMs);
    const { evictable } = table;
    // Restrictions that are over leave at the next sweep: looking for them here would cost a walk through all for each offence.
    if (evictable !== undefined && table.isFull && table.withDigest(held.digest) === undefined)
      table.delete(evictable);
    table.set(held);
    this.#isEmpty = false;
    this.#options.began(whom, forMs);
    if (kind !== 'webhook' || table.ofOwner(held.owner).length <= MAX_WEBHOOKS) return;
    this.restrict({ kind: 'address', key, webhook: '', reason }, forMs);
    for (const entry of [...table.ofOwner(held.owner)]) table.delete(entry);
  }

  /** The reasons for which a request would be refused. `webhook`: '' if it is to none. */
  reasonsFor(address: string, principal: string | null, webhook: string): RestrictionReason[] {
    const nowMs = this.#options.clock.monotonicMs();
    const runs = (held: Held | undefined) => held !== undefined && held.untilMs > nowMs;
    return RESTRICTION_REASONS.filter(reason => {
      const tables = this.#tables.get(reason);
      if (tables === undefined) return false;
      if (runs(tables.address.held('address', address, ''))) return true;
      if (principal !== null && runs(tables.principal.held('principal', principal, ''))) return true;
      return webhook !== '' && runs(tables.webhook.held('webhook', address, webhook));
    });
  }

  /** Lists the restrictions that would be in force, at most `max`. */
  list(max: number): ShadowRestriction[] {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const found: ShadowRestriction[] = [];
    for (const { reason, key, untilMs } of this.#all()) {
      if (found.length === max) return found;
      if (untilMs > nowMs)
        found.push({ reason, key, untilEpochMs: Math.floor(clock.epochMs() - nowMs + untilMs) });
    }
    return found;
  }

  /** Forgets the restrictions of clients that are never restricted from now on. */
  spare(isOnList: (key: string) => boolean): void {
    for (const held of this.#all())
      if (isOnList(held.key)) this.#tables.get(held.reason)?.[held.kind].delete(held);
    this.#look();
  }

  /** Forgets the restrictions of a rule that is no longer in shadow. */
  end(reason: RestrictionReason): void {
    for (const held of this.#all())
      if (held.reason === reason) this.#tables.get(reason)?.[held.kind].delete(held);
    this.#look();
  }

  /** Drops expired ones. Call it every second or so: until then, they take room. */
  sweep(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const table of this.#each()) for (const entry of table.over(nowMs)) table.delete(entry);
    this.#look();
  }

  #entryOf({ kind, key, webhook, reason }: Restricted, untilMs: number): Held {
    const network = kind === 'principal' ? '' : (this.#options.networkOf?.(key) ?? '');
    return {
      ...{ kind, key, webhook, reason, network, untilMs },
      // Never told to anyone, so names need no digest.
      ...{ digest: `${key} ${webhook}`, owner: kind === 'webhook' ? key : '' },
      ...{ slackMs: 0, lifts: 0, sinceEpochMs: 0, untilEpochMs: 0, place: 0 },
    };
  }

  *#each(): Generator<RestrictionTable> {
    for (const tables of this.#tables.values()) for (const kind of RESTRICTED_KINDS) yield tables[kind];
  }

  *#all(): Generator<Held> {
    for (const table of this.#each()) for (const entry of table.all()) if (isHeld(entry)) yield entry;
  }

  #look(): void {
    this.#isEmpty = [...this.#each()].every(({ size }) => size === 0);
  }
}
