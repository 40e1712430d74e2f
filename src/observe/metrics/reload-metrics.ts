import { Counter, Gauge, type Registry } from 'prom-client';
import type { AppliedEvent, Clock, ReloadListener } from '../../core/index.ts';

type Outcome = 'applied' | 'waiting' | 'refused' | 'unchanged';

/** The metrics of the configuration: what runs, and what became of the last change. */
export class ReloadMetrics implements Partial<ReloadListener> {
  readonly #clock: Clock;
  readonly #reloads: Counter<'outcome'>;
  readonly #successful: Gauge;
  readonly #last: Gauge;
  readonly #info: Gauge<'hash' | 'generation'>;
  readonly #needsRestart: Gauge;
  readonly #watched: Gauge;

  constructor(registry: Registry, clock: Clock) {
    const registers = [registry];
    this.#clock = clock;
    this.#reloads = new Counter({
      name: 'weir_config_reloads_total',
      help: 'Changes of the configuration files, and demands to look at them, by what became of them: applied, waiting (for the keys of another identity provider), refused (they have mistakes), unchanged.',
      labelNames: ['outcome'],
      registers,
    });
    this.#successful = new Gauge({
      name: 'weir_config_last_reload_successful',
      help: '1 when the configuration files, as they were at the last reload, are without mistakes; 0 when what served before them still does. To alert on.',
      registers,
    });
    this.#last = new Gauge({
      name: 'weir_config_last_reload_timestamp_seconds',
      help: 'When the last reload was, good or bad; at first the start.',
      registers,
    });
    this.#info = new Gauge({
      name: 'weir_config_info',
      help: 'The configuration that serves: 1, with its hash (equal files, equal hash) and its number in this process.',
      labelNames: ['hash', 'generation'],
      registers,
    });
    this.#needsRestart = new Gauge({
      name: 'weir_config_restart_keys',
      help: 'Keys of the configuration that were changed and wait for a restart.',
      registers,
    });
    this.#watched = new Gauge({
      name: 'weir_config_watched',
      help: '1 while changes are noticed by events; 0: late, by looking every few seconds.',
      registers,
    });
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
