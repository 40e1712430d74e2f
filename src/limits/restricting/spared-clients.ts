/**
 * The digests of clients that are never restricted here, as far as they are known. Restrictions of them that other gateways
 * announce are kept, because those may have other lists and a reload may change this one.
 */
export class SparedClients {
  /** Clients that the list names. */
  #named: ReadonlySet<string> = new Set();
  /** Clients that only a request could tell from others: of a network, or on a webhook. */
  readonly #met = new Set<string>();

  setNamed(named: ReadonlySet<string>): void {
    this.#named = named;
    this.#met.clear();
  }

  /** Notes that the client behind this digest has been met and is never restricted here. */
  meet(digest: string): void {
    this.#met.add(digest);
  }

  has(digest: string): boolean {
    return this.#named.has(digest) || this.#met.has(digest);
  }

  /** Forgets that a client was met, because its restriction is over. */
  forget(digest: string): void {
    this.#met.delete(digest);
  }

  *all(): Generator<string> {
    yield* this.#met;
    for (const digest of this.#named) if (!this.#met.has(digest)) yield digest;
  }
}
