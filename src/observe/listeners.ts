import type {
  AppliedEvent,
  AuthListener,
  ConfigEvent,
  DecidedBy,
  DecisionEvent,
  DiscoveryEvent,
  ExchangeListener,
  ExchangeRecord,
  FlawedKey,
  LimitListener,
  RedeemEvent,
  ReloadListener,
  RestrictionEvent,
  SignInListener,
  StoreFailure,
  StoreListener,
} from '../core/index.ts';

/** Several listeners as one; each hears everything, in the order given. */
export class Listeners implements ExchangeListener {
  readonly #listeners: readonly ExchangeListener[];

  constructor(listeners: readonly ExchangeListener[]) {
    this.#listeners = listeners;
  }

  started(): void {
    for (const listener of this.#listeners) listener.started();
  }

  finished(record: ExchangeRecord): void {
    for (const listener of this.#listeners) listener.finished(record);
  }

  untrustedForwarding(): void {
    for (const listener of this.#listeners) listener.untrustedForwarding();
  }
}

/** The same for what is announced of tokens and sign-in. */
export class IdentityListeners implements AuthListener, SignInListener {
  readonly #listeners: readonly (AuthListener & SignInListener)[];

  constructor(listeners: readonly (AuthListener & SignInListener)[]) {
    this.#listeners = listeners;
  }

  tokenKnown(): void {
    for (const listener of this.#listeners) listener.tokenKnown();
  }

  signatureChecked(algorithm: string, good: boolean): void {
    for (const listener of this.#listeners) listener.signatureChecked(algorithm, good);
  }

  tokenRefused(reason: string, claim: string | null): void {
    for (const listener of this.#listeners) listener.tokenRefused(reason, claim);
  }

  tokenUndecided(): void {
    for (const listener of this.#listeners) listener.tokenUndecided();
  }

  budgetSpent(): void {
    for (const listener of this.#listeners) listener.budgetSpent();
  }

  keySetLoaded(usable: number, unusable: number, flawed: readonly FlawedKey[]): void {
    for (const listener of this.#listeners) listener.keySetLoaded(usable, unusable, flawed);
  }

  keySetFailed(cause: unknown): void {
    for (const listener of this.#listeners) listener.keySetFailed(cause);
  }

  markEvicted(): void {
    for (const listener of this.#listeners) listener.markEvicted();
  }

  redeemed(event: RedeemEvent): void {
    for (const listener of this.#listeners) listener.redeemed(event);
  }

  discovered(event: DiscoveryEvent): void {
    for (const listener of this.#listeners) listener.discovered(event);
  }
}

/** The same for what is announced of limits. */
export class LimitListeners implements LimitListener {
  readonly #listeners: readonly LimitListener[];

  constructor(listeners: readonly LimitListener[]) {
    this.#listeners = listeners;
  }

  decided(event: DecisionEvent): void {
    for (const listener of this.#listeners) listener.decided(event);
  }

  invalid(status: number): void {
    for (const listener of this.#listeners) listener.invalid(status);
  }

  restricted(event: RestrictionEvent): void {
    for (const listener of this.#listeners) listener.restricted(event);
  }

  released(event: RestrictionEvent): void {
    for (const listener of this.#listeners) listener.released(event);
  }

  noRoom(event: RestrictionEvent): void {
    for (const listener of this.#listeners) listener.noRoom(event);
  }
}

/** The same for what is announced of the shared store. */
export class StoreListeners implements StoreListener {
  readonly #listeners: readonly StoreListener[];

  constructor(listeners: readonly StoreListener[]) {
    this.#listeners = listeners;
  }

  decidedBy(who: DecidedBy): void {
    for (const listener of this.#listeners) listener.decidedBy(who);
  }

  failed(failure: StoreFailure, cause: string): void {
    for (const listener of this.#listeners) listener.failed(failure, cause);
  }

  lost(policy: 'local' | 'open' | 'closed', cause: string): void {
    for (const listener of this.#listeners) listener.lost(policy, cause);
  }

  found(lostForMs: number): void {
    for (const listener of this.#listeners) listener.found(lostForMs);
  }

  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void {
    for (const listener of this.#listeners) listener.beat(roundTripMs, clockAheadMs, replicas);
  }
}

/** The same for what becomes of the configuration. */
export class ReloadListeners implements ReloadListener {
  readonly #listeners: readonly ReloadListener[];

  constructor(listeners: readonly ReloadListener[]) {
    this.#listeners = listeners;
  }

  started(event: AppliedEvent): void {
    for (const listener of this.#listeners) listener.started(event);
  }

  warned(warnings: readonly string[]): void {
    for (const listener of this.#listeners) listener.warned(warnings);
  }

  applied(event: AppliedEvent): void {
    for (const listener of this.#listeners) listener.applied(event);
  }

  waiting(event: ConfigEvent): void {
    for (const listener of this.#listeners) listener.waiting(event);
  }

  refused(problems: readonly string[]): void {
    for (const listener of this.#listeners) listener.refused(problems);
  }

  unchanged(): void {
    for (const listener of this.#listeners) listener.unchanged();
  }

  unwatched(cause: unknown): void {
    for (const listener of this.#listeners) listener.unwatched(cause);
  }
}
