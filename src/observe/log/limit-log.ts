import type { LimitListener, RestrictionEvent } from '../../core/index.ts';
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

  noRoom(event: RestrictionEvent): void {
    this.#log.error(this.#line(event), 'not restricted: the table of restrictions is full');
  }

  #line({ kind, reason, key, untilEpochMs }: RestrictionEvent): object {
    const who = kind === 'principal' ? { caller: this.#pseudonyms.of(key) } : { client: key };
    return { type: 'restriction', kind, reason, ...who, until: new Date(untilEpochMs).toISOString() };
  }
}
