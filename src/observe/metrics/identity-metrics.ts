import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AuthListener, DiscoveryEvent, RedeemEvent, SignInListener } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** Seconds: a nearby provider answers within milliseconds; one in trouble is given up after several seconds. */
const REDEEM_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const TOKENS = {
  name: 'weir_tokens_total',
  help: 'Bearer tokens seen, by outcome: known (verified before), verified, refused, undecided (key not available), put_off (the address has used up its budget of failed verifications).',
  labelNames: ['outcome'],
} as const;

const REFUSED = {
  name: 'weir_tokens_refused_total',
  help: 'Refused tokens by reason.',
  labelNames: ['reason'],
} as const;

const CHECKS = {
  name: 'weir_signature_checks_total',
  help: 'Signatures checked, by algorithm and result.',
  labelNames: ['algorithm', 'good'],
} as const;

const KEYS = {
  name: 'weir_key_set_keys',
  help: 'Keys of the issuer that can verify tokens; 0 until the first key set is loaded.',
} as const;

const KEY_SET_FETCHES = {
  name: 'weir_key_set_fetches_total',
  help: "Fetches of the issuer's key set, by outcome.",
  labelNames: ['outcome'],
} as const;

const MARKS_EVICTED = {
  name: 'weir_not_before_marks_evicted_total',
  help: 'Not-before marks evicted because the table was full: older tokens of their subjects may be accepted again.',
} as const;

const REDEEMED = {
  name: 'weir_sign_ins_total',
  help: 'Sign-in attempts, by outcome.',
  labelNames: ['outcome'],
} as const;

const REDEEM_DURATION = {
  name: 'weir_sign_in_duration_seconds',
  help: 'Time from the complete sign-in request to its response.',
  buckets: REDEEM_BUCKETS,
} as const;

const DISCOVERIES = {
  name: 'weir_provider_discoveries_total',
  help: "Attempts to discover the provider's endpoints, by outcome.",
  labelNames: ['outcome'],
} as const;

/** The metrics of sign-in and access tokens. Every label has a short, closed list of values. */
export class IdentityMetrics implements AuthListener, SignInListener {
  readonly #tokens: Tally;
  readonly #refused: Tally;
  readonly #checks: Tally;
  readonly #keys: Gauge;
  readonly #keySetFetches: Counter<'outcome'>;
  readonly #marksEvicted: Counter;
  readonly #redeemed: Counter<'outcome'>;
  readonly #redeemDuration: Histogram;
  readonly #discoveries: Counter<'outcome'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#tokens = tallyCounter({ ...TOKENS, registers });
    this.#refused = tallyCounter({ ...REFUSED, registers });
    this.#checks = tallyCounter({ ...CHECKS, registers });
    this.#keys = new Gauge({ ...KEYS, registers });
    this.#keySetFetches = new Counter({ ...KEY_SET_FETCHES, registers });
    this.#marksEvicted = new Counter({ ...MARKS_EVICTED, registers });
    this.#redeemed = new Counter({ ...REDEEMED, registers });
    this.#redeemDuration = new Histogram({ ...REDEEM_DURATION, registers });
    this.#discoveries = new Counter({ ...DISCOVERIES, registers });
  }

  tokenKnown(): void {
    this.#tokens.of('known').count++;
  }

  signatureChecked(algorithm: string, good: boolean): void {
    this.#checks.of(algorithm).of(String(good)).count++;
    if (good) this.#tokens.of('verified').count++;
  }

  tokenRefused(reason: string): void {
    this.#tokens.of('refused').count++;
    this.#refused.of(reason).count++;
  }

  tokenUndecided(): void {
    this.#tokens.of('undecided').count++;
  }

  budgetSpent(): void {
    this.#tokens.of('put_off').count++;
  }

  keySetLoaded(usable: number): void {
    this.#keys.set(usable);
    this.#keySetFetches.inc({ outcome: 'loaded' });
  }

  keySetFailed(): void {
    this.#keySetFetches.inc({ outcome: 'failed' });
  }

  markEvicted(): void {
    this.#marksEvicted.inc();
  }

  redeemed(event: RedeemEvent): void {
    this.#redeemed.inc({ outcome: event.outcome });
    this.#redeemDuration.observe(event.durationMs / 1_000);
  }

  discovered(event: DiscoveryEvent): void {
    this.#discoveries.inc({ outcome: event.outcome });
  }
}
