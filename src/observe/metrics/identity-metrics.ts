import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import {
  type AuthListener,
  DISCOVERY_OUTCOMES,
  type DiscoveryEvent,
  INTROSPECTION_OUTCOMES,
  INVALID_REASONS,
  type IntrospectionEvent,
  type InvalidReason,
  NOTICE_OUTCOMES,
  type NoticeEvent,
  type NoticeKind,
  type NoticeListener,
  REDEEM_OUTCOMES,
  type RedeemEvent,
  SIGNATURE_ALGORITHMS,
  type SignatureAlgorithm,
  type SignInListener,
  type SignOutEvent,
} from '../../core/index.ts';
import type { LabelModel } from './label-model.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** Seconds: a nearby provider answers within milliseconds; one in trouble is given up after several seconds. */
const REDEEM_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const TOKENS = {
  name: 'weir_tokens_total',
  help: 'Bearer tokens seen, by outcome: known (verified before), verified, refused, undecided (key not available), put_off (the address has used up its budget of failed verifications).',
  labelNames: ['provider', 'outcome'],
} as const;

const TOKEN_OUTCOMES = ['known', 'verified', 'refused', 'undecided', 'put_off'];

const REFUSED = {
  name: 'weir_tokens_refused_total',
  help: 'Refused tokens by reason.',
  labelNames: ['provider', 'reason'],
} as const;

const CHECKS = {
  name: 'weir_signature_checks_total',
  help: 'Signatures checked, by algorithm and result.',
  labelNames: ['provider', 'algorithm', 'good'],
} as const;

const KEYS = {
  name: 'weir_key_set_keys',
  help: 'Keys of the issuer that can verify tokens; 0 until the first key set is loaded.',
  labelNames: ['provider'],
} as const;

const KEY_SET_FETCHES = {
  name: 'weir_key_set_fetches_total',
  help: "Fetches of the issuer's key set, by outcome.",
  labelNames: ['provider', 'outcome'],
} as const;

const REVOCATIONS_EVICTED = {
  name: 'weir_revocations_evicted_total',
  help: 'Revocations evicted because the table was full: every token as old as they were is refused.',
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

const REFRESHED = {
  name: 'weir_refreshes_total',
  help: 'Attempts to trade a refresh token for new tokens, by outcome.',
  labelNames: ['outcome'],
} as const;

const REFRESH_DURATION = {
  name: 'weir_refresh_duration_seconds',
  help: 'Time from the complete request with a refresh token to its response.',
  buckets: REDEEM_BUCKETS,
} as const;

const SIGNED_OUT = {
  name: 'weir_sign_outs_total',
  help: "Sign-outs, by the outcome of the provider's part.",
  labelNames: ['outcome'],
} as const;

const DISCOVERIES = {
  name: 'weir_provider_discoveries_total',
  help: "Attempts to discover the provider's endpoints, by outcome.",
  labelNames: ['provider', 'outcome'],
} as const;

const INTROSPECTIONS = {
  name: 'weir_introspections_total',
  help: 'Questions to the provider whether a token is still valid, by outcome. Answers that are remembered do not count.',
  labelNames: ['provider', 'outcome'],
} as const;

const INTROSPECTION_DURATION = {
  name: 'weir_introspection_duration_seconds',
  help: 'Time from a question to the provider whether a token is still valid to its answer.',
  buckets: REDEEM_BUCKETS,
} as const;

/** Tokens whose provider is unknown or not configured. */
const NO_PROVIDER = 'none';

/** The metrics of sign-in and access tokens. Every label has a short, closed list of values. */
export class IdentityMetrics {
  readonly #tokens: Tally;
  readonly #refused: Tally;
  readonly #checks: Tally;
  readonly #keys: Gauge;
  readonly #keySetFetches: Tally;
  readonly #revocationsEvicted: Counter;
  readonly #redeemed: Tally;
  readonly #redeemDuration: Histogram;
  readonly #refreshed: Tally;
  readonly #refreshDuration: Histogram;
  readonly #signedOut: Tally;
  readonly #discoveries: Tally;
  readonly #introspections: Tally;
  readonly #introspectionDuration: Histogram;
  /** Values of the label `provider` that have series. */
  #shown: ReadonlySet<string> = new Set();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#tokens = tallyCounter({ ...TOKENS, registers });
    this.#refused = tallyCounter({ ...REFUSED, registers });
    this.#checks = tallyCounter({ ...CHECKS, registers });
    this.#keys = new Gauge({ ...KEYS, registers });
    this.#keySetFetches = tallyCounter({ ...KEY_SET_FETCHES, registers });
    this.#revocationsEvicted = new Counter({ ...REVOCATIONS_EVICTED, registers });
    this.#redeemed = tallyCounter({ ...REDEEMED, registers });
    this.#redeemDuration = new Histogram({ ...REDEEM_DURATION, registers });
    this.#refreshed = tallyCounter({ ...REFRESHED, registers });
    this.#refreshDuration = new Histogram({ ...REFRESH_DURATION, registers });
    this.#signedOut = tallyCounter({ ...SIGNED_OUT, registers });
    this.#discoveries = tallyCounter({ ...DISCOVERIES, registers });
    this.#introspections = tallyCounter({ ...INTROSPECTIONS, registers });
    this.#introspectionDuration = new Histogram({ ...INTROSPECTION_DURATION, registers });
  }

  /** Follows the configuration: without an identity provider there is nothing to show. */
  use({ providers, refreshes, signsOut, introspects }: LabelModel): void {
    const labels = new Set((providers ?? []).map(provider => provider ?? ''));
    for (const gone of this.#shown) if (!labels.has(gone)) this.#keys.remove(labelled(gone));
    this.#shown = labels;
    if (providers === null) return;
    for (const label of labels) {
      this.#prepare(label);
      if (introspects)
        for (const outcome of INTROSPECTION_OUTCOMES) this.#introspections.of(label).of(outcome);
    }
    if (providers.length > 1) this.#prepareRefusals(NO_PROVIDER);
    for (const outcome of REDEEM_OUTCOMES) {
      if (outcome !== 'token_refused') this.#redeemed.of(outcome);
      if (outcome !== 'code_refused' && refreshes) this.#refreshed.of(outcome);
      if (outcome !== 'code_refused' && signsOut) this.#signedOut.of(outcome);
    }
  }

  /** Shows the series of a provider from the start. */
  #prepare(label: string): void {
    this.#keys.inc(labelled(label), 0);
    for (const outcome of TOKEN_OUTCOMES) this.#tokens.of(label).of(outcome);
    this.#prepareRefusals(label);
    for (const algorithm of SIGNATURE_ALGORITHMS)
      for (const good of ['true', 'false']) this.#checks.of(label).of(algorithm).of(good);
    for (const outcome of ['loaded', 'failed']) this.#keySetFetches.of(label).of(outcome);
    for (const outcome of DISCOVERY_OUTCOMES) this.#discoveries.of(label).of(outcome);
  }

  #prepareRefusals(label: string): void {
    this.#tokens.of(label).of('refused');
    for (const reason of INVALID_REASONS) this.#refused.of(label).of(reason);
  }

  /**
   * Counts what is found of one provider's tokens.
   *
   * @param provider its name, or `none`; null: the only one, whose series have no such label
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
      revocationEvicted: () => this.#revocationsEvicted.inc(),
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
  readonly #received: Counter<'notice' | 'outcome'>;

  constructor(registry: Registry) {
    this.#received = new Counter({
      name: 'weir_notices_total',
      help: 'Not-before pushes and back-channel logouts received, by outcome: accepted, outdated, refused, undecided or put_off.',
      labelNames: ['notice', 'outcome'],
      registers: [registry],
    });
  }

  /** Follows the configuration. */
  use(kinds: readonly NoticeKind[]): void {
    for (const notice of kinds)
      for (const outcome of NOTICE_OUTCOMES) this.#received.inc({ notice, outcome }, 0);
  }

  noticeReceived({ kind, outcome }: NoticeEvent): void {
    this.#received.inc({ notice: kind, outcome });
  }
}

/** How many revocations are remembered, of all providers, read at each scrape. */
export interface RevocationView {
  readonly sessions: number;
  readonly subjects: number;
}

/** Registers how many revocations this gateway remembers. */
export function observeRevocations(registry: Registry, revocations: () => RevocationView): void {
  new Gauge({
    name: 'weir_revocations',
    help: 'Revocations that this gateway remembers: sessions that ended, and subjects whose older tokens are refused.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      const { sessions, subjects } = revocations();
      this.set({ kind: 'session' }, sessions);
      this.set({ kind: 'subject' }, subjects);
    },
  });
}
