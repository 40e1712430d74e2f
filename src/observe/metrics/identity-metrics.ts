import type { Gauge } from 'prom-client';
import type {
  AuthListener,
  DiscoveryEvent,
  IntrospectionEvent,
  InvalidReason,
  NoticeEvent,
  NoticeListener,
  RedeemEvent,
  SignatureAlgorithm,
  SignInListener,
  SignOutEvent,
} from '../../core/index.ts';
import type { LabelModel } from './label-model.ts';
import type { MetricSet } from './metric-set.ts';
import type { Tally, TallyHistogram } from './tally.ts';

/** The metrics of sign-in and access tokens. Every label has a short, closed list of values. */
export class IdentityMetrics {
  readonly #tokens: Tally;
  readonly #refused: Tally;
  readonly #checks: Tally;
  readonly #keys: Gauge;
  readonly #keySetFetches: Tally;
  readonly #revocationsEvicted: Tally;
  readonly #redeemed: Tally;
  readonly #redeemDuration: TallyHistogram;
  readonly #refreshed: Tally;
  readonly #refreshDuration: TallyHistogram;
  readonly #signedOut: Tally;
  readonly #discoveries: Tally;
  readonly #introspections: Tally;
  readonly #introspectionDuration: TallyHistogram;
  /** The values of the label `provider` that have series. */
  #shown: ReadonlySet<string> = new Set();

  constructor(set: MetricSet) {
    this.#tokens = set.counter('weir_tokens_total');
    this.#refused = set.counter('weir_tokens_refused_total');
    this.#checks = set.counter('weir_signature_checks_total');
    this.#keys = set.gauge('weir_key_set_keys');
    this.#keySetFetches = set.counter('weir_key_set_fetches_total');
    this.#revocationsEvicted = set.counter('weir_revocations_evicted_total');
    this.#redeemed = set.counter('weir_sign_ins_total');
    this.#redeemDuration = set.histogram('weir_sign_in_duration_seconds');
    this.#refreshed = set.counter('weir_refreshes_total');
    this.#refreshDuration = set.histogram('weir_refresh_duration_seconds');
    this.#signedOut = set.counter('weir_sign_outs_total');
    this.#discoveries = set.counter('weir_provider_discoveries_total');
    this.#introspections = set.counter('weir_introspections_total');
    this.#introspectionDuration = set.histogram('weir_introspection_duration_seconds');
  }

  /** Follows the configuration: without an identity provider there is nothing to show. */
  use({ providers }: LabelModel): void {
    const labels = new Set((providers ?? []).map(provider => provider ?? ''));
    for (const gone of this.#shown) if (!labels.has(gone)) this.#keys.remove(labelled(gone));
    this.#shown = labels;
    for (const label of labels) this.#keys.inc(labelled(label), 0);
  }

  /**
   * Counts what is found of one provider's tokens.
   *
   * @param provider its name, or `none`; `null` for the only one, whose series have no such label
   */
  of(provider: string | null): AuthListener & SignInListener {
    const label = provider ?? '';
    const tokens = this.#tokens.of(label);
    const refused = this.#refused.of(label);
    const checks = this.#checks.of(label);
    const fetches = this.#keySetFetches.of(label);
    const discoveries = this.#discoveries.of(label);
    const introspections = this.#introspections.of(label);
    return {
      tokenKnown: () => {
        tokens.of('known').count++;
      },
      signatureChecked: (algorithm: SignatureAlgorithm, good: boolean) => {
        checks.of(algorithm).of(String(good)).count++;
        if (good) tokens.of('verified').count++;
      },
      tokenRefused: (reason: InvalidReason) => {
        tokens.of('refused').count++;
        refused.of(reason).count++;
      },
      tokenUndecided: () => {
        tokens.of('undecided').count++;
      },
      budgetSpent: () => {
        tokens.of('put_off').count++;
      },
      keySetLoaded: (usable: number) => {
        this.#keys.set(labelled(label), usable);
        fetches.of('loaded').count++;
      },
      keySetFailed: () => {
        fetches.of('failed').count++;
      },
      revocationEvicted: () => {
        this.#revocationsEvicted.count++;
      },
      redeemed: ({ grant, outcome, durationMs }: RedeemEvent) => {
        const [attempts, duration] =
          grant === 'code'
            ? [this.#redeemed, this.#redeemDuration]
            : [this.#refreshed, this.#refreshDuration];
        attempts.of(outcome).count++;
        duration.observe(durationMs / 1_000);
      },
      signedOut: ({ outcome }: SignOutEvent) => {
        this.#signedOut.of(outcome).count++;
      },
      introspected: ({ outcome, durationMs }: IntrospectionEvent) => {
        introspections.of(outcome).count++;
        if (outcome !== 'overloaded') this.#introspectionDuration.observe(durationMs / 1_000);
      },
      discovered: (event: DiscoveryEvent) => {
        discoveries.of(event.outcome).count++;
      },
    };
  }
}

function labelled(provider: string): Partial<Record<'provider', string>> {
  return provider === '' ? {} : { provider };
}

/** Counts what providers tell the gateway unasked. */
export class NoticeMetrics implements NoticeListener {
  readonly #received: Tally;

  constructor(set: MetricSet) {
    this.#received = set.counter('weir_notices_total');
  }

  noticeReceived({ kind, outcome }: NoticeEvent): void {
    this.#received.of(kind).of(outcome).count++;
  }
}

/** How many revocations are remembered, of all providers, read at each scrape. */
export interface RevocationView {
  readonly sessions: number;
  readonly subjects: number;
}

/** Registers how many revocations this gateway remembers. */
export function observeRevocations(set: MetricSet, revocations: () => RevocationView): void {
  set.read('weir_revocations', () => {
    const { sessions, subjects } = revocations();
    return [
      [{ kind: 'session' }, sessions],
      [{ kind: 'subject' }, subjects],
    ];
  });
}
