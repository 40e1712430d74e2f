import type { Gauge } from 'prom-client';
import type { AppliedEvent, Clock, ReloadListener } from '../../core/index.ts';
import type { MetricSet } from './metric-set.ts';
import type { Tally } from './tally.ts';

/** The metrics of the configuration: what is in use, and how the last reload ended. */
export class ReloadMetrics implements Partial<ReloadListener> {
  readonly #clock: Clock;
  readonly #reloads: Tally;
  readonly #successful: Gauge;
  readonly #last: Gauge;
  readonly #applied: Gauge;
  readonly #info: Gauge<string>;
  readonly #needsRestart: Gauge;
  readonly #watched: Gauge;

  constructor(set: MetricSet, clock: Clock) {
    this.#clock = clock;
    this.#reloads = set.counter('weir_config_reloads_total');
    this.#successful = set.gauge('weir_config_last_reload_successful');
    this.#last = set.gauge('weir_config_last_reload_timestamp_seconds');
    this.#applied = set.gauge('weir_config_applied_timestamp_seconds');
    this.#info = set.gauge('weir_config_info');
    this.#needsRestart = set.gauge('weir_config_restart_keys');
    this.#watched = set.gauge('weir_config_watched');
    this.#watched.set(1);
  }

  started(event: AppliedEvent): void {
    this.#show(event);
    this.#note(true);
  }

  applied(event: AppliedEvent): void {
    this.#show(event);
    this.#ended('applied');
  }

  waiting(): void {
    this.#ended('waiting');
  }

  refused(): void {
    this.#ended('refused');
  }

  unchanged(): void {
    this.#ended('unchanged');
  }

  unwatched(): void {
    this.#watched.set(0);
  }

  #show({ hash, generation, needsRestart }: AppliedEvent): void {
    this.#applied.set(this.#clock.epochMs() / 1_000);
    this.#info.reset();
    this.#info.set({ hash, generation: String(generation) }, 1);
    this.#needsRestart.set(needsRestart.length);
  }

  #ended(outcome: 'applied' | 'waiting' | 'refused' | 'unchanged'): void {
    this.#reloads.of(outcome).count++;
    this.#note(outcome !== 'refused');
  }

  #note(successful: boolean): void {
    this.#last.set(this.#clock.epochMs() / 1_000);
    this.#successful.set(successful ? 1 : 0);
  }
}

/** A certificate in use, read at each scrape. */
export interface CertificateView {
  /** Its key under `listen`. */
  readonly listener: string;
  /** Its file, as it is configured. */
  readonly certificate: string;
  readonly notAfterMs: number;
}

/** Registers when each certificate expires. */
export function observeCertificates(set: MetricSet, certificates: () => readonly CertificateView[]): void {
  set.read('weir_tls_certificate_expiry_timestamp_seconds', () =>
    certificates().map(({ listener, certificate, notAfterMs }) => [
      { listener, certificate },
      notAfterMs / 1_000,
    ]),
  );
}
