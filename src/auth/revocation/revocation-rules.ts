import type { Clock } from '../../core/index.ts';
import type { AnonymousRevocation } from './anonymous-revocation.ts';

/** What the configuration says. */
export interface RevocationRules {
  /** Tokens issued before it are refused; seconds since the epoch, 0: none. A push does not lower it. */
  readonly notBeforeS: number;
  /** A token is accepted this much longer than it lives. */
  readonly leewayS: number;
  /** No token that lives longer is accepted; null: learnt from the tokens seen. */
  readonly maxLifetimeS: number | null;
}

export interface IssuerRevocationsDependencies {
  readonly clock: Clock;
  /** Hands what is learnt here to other gateways. */
  readonly announce: (revocation: AnonymousRevocation) => void;
  /** A revocation was evicted because a table was full. */
  readonly onEvicted: () => void;
  /** Returns a number that no issuer has had before. */
  readonly nextVersion: () => number;
}
