import { Counter, Gauge, type Registry } from 'prom-client';
import type { AppliedEvent, Clock, ReloadListener } from '../../core/index.ts';

const OUTCOMES = ['applied', 'waiting', 'refused', 'unchanged'] as const;
type Outcome = (typeof OUTCOMES)[number];

const RELOADS = {
  name: 'weir_config_reloads_total',
  help: 'Reloads of the configuration files, by outcome: applied, waiting (for the keys of a new identity provider), refused (the files have errors), unchanged.',
  labelNames: ['outcome'],
} as const;

const SUCCESSFUL = {
  name: 'weir_config_last_reload_successful',
  help: '1 if the configuration files were valid at the last reload; 0 if they were refused and the previous configuration stays in use. Alert on 0.',
} as const;

const LAST = {
  name: 'weir_config_last_reload_timestamp_seconds',
  help: 'Time of the last reload, successful or not; the start time until the first one.',
} as const;

const APPLIED = {
  name: 'weir_config_applied_timestamp_seconds',
  help: 'Time when the configuration in use came into force. Among several gateways, the hash with the greatest time is the newest configuration.',
} as const;

const INFO = {
  name: 'weir_config_info',
  help: 'Always 1; the labels name the configuration in use: its hash (equal files, equal hash) and its number in this process.',
  labelNames: ['hash', 'generation'],
} as const;

const NEEDS_RESTART = {
  name: 'weir_config_restart_keys',
  help: 'Configuration keys whose change takes effect only after a restart.',
} as const;

const WATCHED = {
  name: 'weir_config_watched',
  help: '1 while file events report changes; 0 while the files are polled every few seconds.',
} as const;

/** The metrics of the configuration: what is in use, and how the last reload ended. */
export class ReloadMetrics implements Partial<ReloadListener> {
  readonly #clock: Clock;
  readonly #reloads: Counter<'outcome'>;
  readonly #successful: Gauge;
  readonly #last: Gauge;
  readonly #applied: Gauge;
  readonly #info: Gauge<'hash' | 'generation'>;
  readonly #needsRestart: Gauge;
  readonly #watched: Gauge;

  constructor(registry: Registry, clock: Clock) {
    const registers = [registry];
    this.#clock = clock;
    this.#reloads = new Counter({ ...RELOADS, registers });
    this.#successful = new Gauge({ ...SUCCESSFUL, registers });
    this.#last = new Gauge({ ...LAST, registers });
    this.#applied = new Gauge({ ...APPLIED, registers });
    this.#info = new Gauge({ ...INFO, registers });
    this.#needsRestart = new Gauge({ ...NEEDS_RESTART, registers });
    this.#watched = new Gauge({ ...WATCHED, registers });
    this.#watched.set(1);
    for (const outcome of OUTCOMES) this.#reloads.inc({ outcome }, 0);
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

  #ended(outcome: Outcome): void {
    this.#reloads.inc({ outcome });
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
export function observeCertificates(
  registry: Registry,
  certificates: () => readonly CertificateView[],
): void {
  new Gauge({
    name: 'weir_tls_certificate_expiry_timestamp_seconds',
    help: 'When each certificate in use expires, by listener and file. Alert two weeks ahead.',
    labelNames: ['listener', 'certificate'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { listener, certificate, notAfterMs } of certificates())
        this.set({ listener, certificate }, notAfterMs / 1_000);
    },
  });
}
