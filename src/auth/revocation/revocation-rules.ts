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

/** Other gateways. */
export interface RevocationSharing {
  /** Hands them what is learnt here. */
  announce(revocation: AnonymousRevocation): void;
  /** Spares those that start later what was evicted here. They learn instead what refuses at least as much, announced before. */
  withdraw(revocation: Pick<AnonymousRevocation, 'kind' | 'issuer' | 'whom' | 'value'>): void;
}

export interface IssuerRevocationsDependencies {
  readonly clock: Clock;
  readonly others: RevocationSharing;
  /** A revocation was evicted because a table was full. */
  readonly onEvicted: () => void;
  /** Returns a number that no issuer has had before. */
  readonly nextVersion: () => number;
}
