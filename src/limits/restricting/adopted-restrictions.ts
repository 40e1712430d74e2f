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

/** Restrictions of other gateways, known by a digest until the client they are about sends a request. */
export class AdoptedRestrictions {
  readonly #kinds: Readonly<Record<RestrictedKind, Map<string, Adopted>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };

  get size(): number {
    const { address, principal, webhook } = this.#kinds;
    return address.size + principal.size + webhook.size;
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
    for (const kind of Object.values(this.#kinds)) {
      for (const [digest, { untilMs, slackMs }] of kind) {
        if (nowMs >= untilMs - slackMs) kind.delete(digest);
        else nextEndMs = Math.min(nextEndMs, untilMs - slackMs);
      }
    }
    return nextEndMs;
  }
}
