import type {
  AuthListener,
  Clock,
  DiscoveryEvent,
  FlawedKey,
  RedeemEvent,
  SignInListener,
} from '../../core/index.ts';
import type { Logger } from './logger.ts';

/** Flawed keys named when they first appear in a key set, which may have hundreds; the rest are counted. */
const MAX_TOLD = 10;

/** Anybody can send tokens that lack a claim: each claim is told once in so long, with how many tokens it was. */
const CLAIM_TOLD_MS = 60_000;

/** Tokens that lack one claim. */
interface Lack {
  /** When it was told last; monotonic. */
  toldAtMs: number;
  /** Tokens since then. */
  tokens: number;
}

/**
 * Logs what operations must know of the provider: changes of its state, not every attempt, and what the gateway itself
 * does wrong there. Refused tokens and codes are everyday events: metrics count them, and the access log says why.
 */
export class IdentityLog implements Partial<AuthListener & SignInListener> {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** By the claim, of which there are as many as are configured. */
  readonly #lacking = new Map<string, Lack>();
  #keySetFails = false;
  #discoveryFails = false;
  #keys = -1;
  #flawed: ReadonlySet<string> = new Set();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** A lacking claim points to the provider's or our configuration, unless somebody makes up tokens. */
  tokenRefused(reason: string, claim: string | null): void {
    if (claim === null) return;
    const nowMs = this.#clock.monotonicMs();
    const lack = this.#lacking.get(claim) ?? { toldAtMs: Number.NEGATIVE_INFINITY, tokens: 0 };
    lack.tokens += 1;
    this.#lacking.set(claim, lack);
    if (nowMs - lack.toldAtMs < CLAIM_TOLD_MS) return;
    this.#log.warn(
      { type: 'token', reason, claim, tokens: lack.tokens },
      'tokens lack a claim that is needed',
    );
    lack.toldAtMs = nowMs;
    lack.tokens = 0;
  }

  keySetLoaded(usable: number, unusable: number, flawed: readonly FlawedKey[]): void {
    this.#warnOf(flawed);
    if (usable === this.#keys && !this.#keySetFails) return;
    this.#keys = usable;
    this.#keySetFails = false;
    this.#log.info({ type: 'provider', usable, unusable }, "the issuer's keys are loaded");
  }

  /** Once for each key, for as long as the issuer shows it. */
  #warnOf(flawed: readonly FlawedKey[]): void {
    const told = new Map(flawed.map(key => [JSON.stringify(key), key]));
    const fresh = [...told].filter(([id]) => !this.#flawed.has(id)).map(([, key]) => key);
    for (const { keyId, flaw } of fresh.slice(0, MAX_TOLD))
      this.#log.warn(
        { type: 'provider', keyId, flaw },
        'a key of the issuer is left out: no signature by it counts',
      );
    const more = fresh.length - MAX_TOLD;
    if (more > 0)
      this.#log.warn({ type: 'provider', keys: more }, `and ${more} more keys of the issuer are left out`);
    this.#flawed = new Set(told.keys());
  }

  keySetFailed(cause: unknown): void {
    if (!this.#keySetFails) {
      this.#log.warn(
        { type: 'provider', cause: textOf(cause) },
        "the issuer's keys cannot be fetched; those held stay in use",
      );
    }
    this.#keySetFails = true;
  }

  redeemed({ outcome, error }: RedeemEvent): void {
    if (outcome === 'success' || outcome === 'bad_body' || outcome === 'code_refused') return;
    const line = { type: 'sign-in', outcome, cause: textOf(error?.cause) };
    if (outcome === 'gateway_refused' || outcome === 'fault')
      this.#log.error(line, 'a sign-in failed on our side');
    else this.#log.warn(line, 'a sign-in failed at the provider');
  }

  discovered({ outcome, ready, cause }: DiscoveryEvent): void {
    if (outcome === 'failed' && !this.#discoveryFails) {
      this.#log.warn(
        { type: 'provider', ready, cause: textOf(cause) },
        'the provider cannot be asked for its endpoints; trying on',
      );
    } else if (outcome === 'learnt' || (outcome === 'confirmed' && this.#discoveryFails)) {
      this.#log.info({ type: 'provider' }, "the provider's endpoints are known");
    }
    this.#discoveryFails = outcome === 'failed';
  }
}

function textOf(cause: unknown): string | null {
  if (cause === null || cause === undefined) return null;
  return cause instanceof Error ? cause.message : String(cause);
}
