import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AuthListener, DiscoveryEvent, RedeemEvent, SignInListener } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** Seconds; a provider next door answers within milliseconds, one in trouble is given up after some seconds. */
const REDEEM_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

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
    this.#tokens = tallyCounter({
      name: 'weir_tokens_total',
      help: 'Bearer tokens looked at: known (verified before), verified, refused, undecided (key unreachable), put_off (budget of failed verifications spent).',
      labelNames: ['outcome'],
      registers,
    });
    this.#refused = tallyCounter({
      name: 'weir_tokens_refused_total',
      help: 'Refused tokens by reason.',
      labelNames: ['reason'],
      registers,
    });
    this.#checks = tallyCounter({
      name: 'weir_signature_checks_total',
      help: 'Signatures checked, by algorithm and result.',
      labelNames: ['algorithm', 'good'],
      registers,
    });
    this.#keys = new Gauge({
      name: 'weir_key_set_keys',
      help: 'Keys of the issuer that can verify tokens; 0: none were ever loaded.',
      registers,
    });
    this.#keySetFetches = new Counter({
      name: 'weir_key_set_fetches_total',
      help: "Fetches of the issuer's keys.",
      labelNames: ['outcome'],
      registers,
    });
    this.#marksEvicted = new Counter({
      name: 'weir_not_before_marks_evicted_total',
      help: 'Not-before marks forgotten for want of room: older tokens of their subjects may pass again.',
      registers,
    });
    this.#redeemed = new Counter({
      name: 'weir_sign_ins_total',
      help: 'Codes to be redeemed, by what came of it.',
      labelNames: ['outcome'],
      registers,
    });
    this.#redeemDuration = new Histogram({
      name: 'weir_sign_in_duration_seconds',
      help: 'From the whole request to its answer.',
      buckets: REDEEM_BUCKETS,
      registers,
    });
    this.#discoveries = new Counter({
      name: 'weir_provider_discoveries_total',
      help: "Attempts to learn the provider's endpoints.",
      labelNames: ['outcome'],
      registers,
    });
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
