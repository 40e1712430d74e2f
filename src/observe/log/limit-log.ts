import type { EvictionEvent, LimitListener, RestrictionEvent } from '../../core/index.ts';
import type { Logger } from './logger.ts';
import type { Pseudonyms } from './pseudonyms.ts';

/** Logs restrictions and releases. Decisions are everyday events, so metrics alone count them. */
export class LimitLog implements Partial<LimitListener> {
  readonly #log: Logger;
  readonly #pseudonyms: Pseudonyms;

  constructor(log: Logger, pseudonyms: Pseudonyms) {
    this.#log = log;
    this.#pseudonyms = pseudonyms;
  }

  restricted(event: RestrictionEvent): void {
    this.#log.warn(this.#line(event), 'restricted');
  }

  shadowRestricted(event: RestrictionEvent): void {
    this.#log.warn({ ...this.#line(event), shadow: true }, 'would be restricted, but the rule is in shadow');
  }

  released(event: RestrictionEvent): void {
    this.#log.info(this.#line(event), 'restriction released');
  }

  prolonged(event: RestrictionEvent): void {
    this.#log.warn(this.#line(event), 'restriction prolonged');
  }

  evicted(event: EvictionEvent): void {
    this.#log.error(this.#line(event), 'restriction ended early: its table is full');
  }

  #line({ kind, reason, key, untilEpochMs }: RestrictionEvent | EvictionEvent): object {
    const line = { type: 'restriction', kind, reason };
    const until = new Date(untilEpochMs).toISOString();
    if (key === null) return { ...line, until };
    const who = kind === 'principal' ? { caller: this.#pseudonyms.of(key) } : { client: key };
    return { ...line, ...who, until };
  }
}
