import { type Entry, type Held, isHeld, isOver } from './entry.ts';
import { EvictionOrder } from './eviction-order.ts';
import type { RestrictedKind } from './restriction.ts';

/**
 * Restrictions with a cap of their own. Each is found by its digest; by name too, once its client has been seen here: until then
 * it is known from another gateway by digest alone.
 */
export class RestrictionTable {
  readonly #max: number;
  readonly #byDigest = new Map<string, Entry>();
  readonly #held: Readonly<Record<RestrictedKind, Map<string, Held>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };
  /** How many are known by digest alone. */
  readonly #unmet: Record<RestrictedKind, number> = { address: 0, principal: 0, webhook: 0 };
  readonly #order = new EvictionOrder<Entry>();
  /** By the digest of the address that calls them: those on webhooks. */
  readonly #byOwner = new Map<string, Entry[]>();
  /** None ends before this. */
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

  /** What gives way when it is full. */
  get evictable(): Entry | undefined {
    return this.#order.first;
  }

  isEmpty(kind: RestrictedKind): boolean {
    return this.#held[kind].size === 0 && this.#unmet[kind] === 0;
  }

  hasUnmet(kind: RestrictedKind): boolean {
    return this.#unmet[kind] > 0;
  }

  held(kind: RestrictedKind, key: string, webhook: string): Held | undefined {
    return this.#held[kind].get(mapKey(key, webhook));
  }

  withDigest(digest: string): Entry | undefined {
    return this.#byDigest.get(digest);
  }

  /** Those on webhooks that this address calls. */
  ofOwner(owner: string): readonly Entry[] {
    return this.#byOwner.get(owner) ?? NONE;
  }

  /** May lose or gain restrictions while it is walked through. */
  all(): Iterable<Entry> {
    return this.#byDigest.values();
  }

  /** Adds one, in place of the one with the same digest. */
  set(entry: Entry): void {
    const before = this.#byDigest.get(entry.digest);
    if (before !== undefined) this.delete(before);
    this.#byDigest.set(entry.digest, entry);
    if (isHeld(entry)) this.#held[entry.kind].set(mapKey(entry.key, entry.webhook), entry);
    else this.#unmet[entry.kind]++;
    this.#order.add(entry);
    if (entry.owner !== '') addTo(this.#byOwner, entry);
    this.#nextEndMs = Math.min(this.#nextEndMs, entry.untilMs - entry.slackMs);
  }

  /** `entry`: one that it holds. */
  delete(entry: Entry): void {
    this.#byDigest.delete(entry.digest);
    if (isHeld(entry)) this.#held[entry.kind].delete(mapKey(entry.key, entry.webhook));
    else this.#unmet[entry.kind]--;
    this.#order.delete(entry);
    if (entry.owner !== '') deleteFrom(this.#byOwner, entry);
  }

  /** Those that are over. Looks only when one may be. */
  over(nowMs: number): readonly Entry[] {
    if (nowMs < this.#nextEndMs) return [];
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    const found: Entry[] = [];
    for (const entry of this.#byDigest.values()) {
      if (isOver(entry, nowMs)) found.push(entry);
      else this.#nextEndMs = Math.min(this.#nextEndMs, entry.untilMs - entry.slackMs);
    }
    return found;
  }
}

const NONE: readonly Entry[] = [];

function addTo(owners: Map<string, Entry[]>, entry: Entry): void {
  const known = owners.get(entry.owner);
  if (known !== undefined) known.push(entry);
  else owners.set(entry.owner, [entry]);
}

/** An owner has few: an address with more than a hundred is restricted itself. */
function deleteFrom(owners: Map<string, Entry[]>, entry: Entry): void {
  const known = owners.get(entry.owner);
  if (known === undefined) return;
  known.splice(known.indexOf(entry), 1);
  if (known.length === 0) owners.delete(entry.owner);
}

/** Unambiguous, because no address contains a space. */
function mapKey(key: string, webhook: string): string {
  return webhook === '' ? key : `${key} ${webhook}`;
}
