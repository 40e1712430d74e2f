import { type Clock, digestOf } from '../../core/index.ts';
import type { RevocationOptions } from '../options.ts';
import type { AnonymousRevocation } from './anonymous-revocation.ts';
import { IssuerRevocations } from './issuer-revocations.ts';
import type { RevocationSharing } from './revocation-rules.ts';

/** More than any configuration names: bounds what other gateways can make this one hold. */
const MAX_ISSUERS = 1_000;

/** The revocations of every issuer. Outlives reloads: what is known of an issuer is known when it is configured again. */
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

  /** Those of one issuer, by its name in tokens. */
  of(issuer: string): IssuerRevocations {
    return this.#ofDigest(digestOf(issuer));
  }

  /** Announces whatever is learnt from now on, for other gateways to adopt. */
  shareBy(sharing: RevocationSharing): void {
    this.#sharing = sharing;
  }

  /** Of all issuers. */
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

  /** Everything, as it would be announced now. */
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
