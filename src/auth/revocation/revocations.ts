import { type Clock, digestOf } from '../../core/index.ts';
import type { RevocationOptions } from '../options.ts';
import { IssuerRevocations } from './issuer-revocations.ts';
import type { AnonymousRevocation, RevocationSharing } from './revocation-rules.ts';

/** More issuers than any configuration has. Bounds what other gateways can make this one hold. */
const MAX_ISSUERS = 1_000;

/** The revocations of every issuer. Outlives reloads, so an issuer that is configured again keeps its revocations. */
export class Revocations {
  readonly #options: RevocationOptions;
  readonly #clock: Clock;
  readonly #onEvicted: () => void;
  readonly #issuers = new Map<string, IssuerRevocations>();
  #sharing: RevocationSharing | null = null;
  #version = 0;

  /** @param onEvicted called for each revocation dropped for lack of room; everything as old as it is refused from then on */
  constructor(options: RevocationOptions, clock: Clock, onEvicted: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onEvicted = onEvicted;
  }

  /** The revocations of one issuer, by its name in tokens. */
  of(issuer: string): IssuerRevocations {
    return this.#ofDigest(digestOf(issuer));
  }

  /** Announces to other gateways whatever this one learns from now on. */
  shareBy(sharing: RevocationSharing): void {
    this.#sharing = sharing;
  }

  /** How many revocations of all issuers are in force. */
  get counts(): { readonly sessions: number; readonly subjects: number } {
    let [sessions, subjects] = [0, 0];
    for (const { facts } of this.#issuers.values()) {
      sessions += facts.sessions;
      subjects += facts.subjects;
    }
    return { sessions, subjects };
  }

  adopt(revocation: AnonymousRevocation): void {
    if (this.#issuers.has(revocation.issuer) || this.#issuers.size < MAX_ISSUERS)
      this.#ofDigest(revocation.issuer).adopt(revocation);
  }

  /** Every revocation in force, as it would be announced now. */
  *running(): Generator<AnonymousRevocation> {
    for (const revocations of this.#issuers.values()) yield* revocations.running();
  }

  #ofDigest(digest: string): IssuerRevocations {
    const known = this.#issuers.get(digest);
    if (known !== undefined) return known;
    const made = new IssuerRevocations(digest, this.#options, {
      clock: this.#clock,
      others: {
        announce: revocation => this.#sharing?.announce(revocation),
        withdraw: revocation => this.#sharing?.withdraw(revocation),
      },
      onEvicted: this.#onEvicted,
      nextVersion: () => ++this.#version,
    });
    this.#issuers.set(digest, made);
    return made;
  }
}
