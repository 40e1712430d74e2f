import {
  type AnonymousRestriction,
  RESTRICTED_KINDS,
  type RestrictedKind,
  type RestrictionReason,
} from './restriction.ts';

/** What another gateway announced. */
export interface Adopted {
  readonly reason: RestrictionReason;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
  /** How often the client had been lifted when it began. */
  readonly lifts: number;
}

/**
 * Restrictions of other gateways, known by a digest until the client they are about sends a request. Those of clients that are
 * never restricted here are kept, because other gateways may have other lists and a reload may change this one.
 */
export class AdoptedRestrictions {
  readonly #kinds: Readonly<Record<RestrictedKind, Map<string, Adopted>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };
  /** Digests of clients that are never restricted here. */
  #named: ReadonlySet<string> = new Set();
  /** The same of clients that only a request could tell from others: of a network, or on a webhook. */
  readonly #met = new Set<string>();

  get size(): number {
    const { address, principal, webhook } = this.#kinds;
    return address.size + principal.size + webhook.size;
  }

  /** Without those of clients that are never restricted here. */
  get refusing(): number {
    let spared = this.#met.size;
    for (const digest of this.#named) if (this.find(digest) !== null && !this.#met.has(digest)) spared++;
    return this.size - spared;
  }

  isEmpty(kind: RestrictedKind): boolean {
    return this.#kinds[kind].size === 0;
  }

  has(kind: RestrictedKind, digest: string): boolean {
    return this.#kinds[kind].has(digest);
  }

  get(kind: RestrictedKind, digest: string): Adopted | undefined {
    return this.#kinds[kind].get(digest);
  }

  /** Adds a restriction unless a longer one is known, or one that began after more lifts. */
  add(kind: RestrictedKind, digest: string, adopted: Adopted): void {
    const before = this.#kinds[kind].get(digest);
    const isNews =
      before === undefined ||
      before.lifts < adopted.lifts ||
      (before.lifts === adopted.lifts && before.untilMs < adopted.untilMs);
    if (isNews) this.#kinds[kind].set(digest, adopted);
  }

  /** Finds a restriction whose kind is not known: the digest is of the kind as well. */
  find(digest: string): { readonly kind: RestrictedKind; readonly adopted: Adopted } | null {
    for (const kind of RESTRICTED_KINDS) {
      const adopted = this.#kinds[kind].get(digest);
      if (adopted !== undefined) return { kind, adopted };
    }
    return null;
  }

  delete(kind: RestrictedKind, digest: string): void {
    this.#kinds[kind].delete(digest);
    this.#met.delete(digest);
  }

  /** Sets the clients that are never restricted here, as far as their digests are known. */
  spareAll(named: ReadonlySet<string>): void {
    this.#named = named;
    this.#met.clear();
  }

  /** Notes that the client behind one of these restrictions has been met and is never restricted here. */
  spare(digest: string): void {
    this.#met.add(digest);
  }

  isSpared(digest: string): boolean {
    return this.#named.has(digest) || this.#met.has(digest);
  }

  *running(nowMs: number): Generator<AnonymousRestriction> {
    for (const kind of RESTRICTED_KINDS) {
      for (const [digest, { reason, untilMs, lifts }] of this.#kinds[kind]) {
        if (untilMs > nowMs) yield { kind, digest, reason, forMs: untilMs - nowMs, lifts };
      }
    }
  }

  /** Drops expired ones. Returns when the next one ends. */
  sweep(nowMs: number): number {
    let nextEndMs = Number.POSITIVE_INFINITY;
    for (const kind of RESTRICTED_KINDS) {
      for (const [digest, { untilMs, slackMs }] of this.#kinds[kind]) {
        if (nowMs >= untilMs - slackMs) this.delete(kind, digest);
        else nextEndMs = Math.min(nextEndMs, untilMs - slackMs);
      }
    }
    return nextEndMs;
  }
}
