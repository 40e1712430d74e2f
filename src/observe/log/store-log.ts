import type {
  ConfigEvent,
  EvictionEvent,
  FailurePolicy,
  LimitListener,
  OverloadListener,
  ReloadListener,
  ReplacedEvent,
  RestrictionEvent,
  StoreListener,
} from '../../core/index.ts';
import { errorStack, errorText } from '../../core/index.ts';
import type { Pseudonyms } from './access-log.ts';
import type { Logger } from './logging.ts';

/** Clocks further apart than this are worth a log line, milliseconds. */
const FAR_APART_MS = 500;

/** Logs each change of the shared store's state once. Single failures are only counted. */
export class StoreLog implements Partial<StoreListener> {
  readonly #log: Logger;
  #farApart = false;
  #isSubscribed = true;

  constructor(log: Logger) {
    this.#log = log;
  }

  lost(policy: FailurePolicy, cause: string): void {
    const line = { type: 'store', policy, cause };
    if (policy === 'local')
      this.#log.error(line, 'Redis is unreachable: this gateway counts alone, with its share of each limit');
    else if (policy === 'open') this.#log.error(line, 'Redis is unreachable: limits are not enforced');
    else this.#log.error(line, 'Redis is unreachable: requests that have a limit get 503');
  }

  found(lostForMs: number): void {
    if (lostForMs === 0) this.#log.info({ type: 'store' }, 'Redis counts the limits');
    else
      this.#log.info(
        { type: 'store', lostForMs: Math.round(lostForMs) },
        'Redis is reachable again and counts the limits',
      );
  }

  behind(): void {
    this.#log.error(
      { type: 'store' },
      'serving without Redis since the start: tokens that other gateways have revoked pass here until Redis is back (on_failure: closed would wait)',
    );
  }

  caughtUp(): void {
    this.#log.info({ type: 'store' }, 'knows what other gateways have revoked and restricted');
  }

  shareFailed(skippedFacts: number, error: unknown): void {
    const cause = errorStack(error);
    this.#log.error(
      { type: 'store', skippedFacts, cause },
      'a fault of this gateway: it could not apply what other gateways have revoked, restricted or lifted',
    );
  }

  subscribed(refusal: string | null): void {
    const isSubscribed = refusal === null;
    if (isSubscribed === this.#isSubscribed) return;
    this.#isSubscribed = isSubscribed;
    if (isSubscribed)
      this.#log.info({ type: 'store' }, 'messages of the other gateways arrive by Redis again');
    else
      this.#log.error(
        { type: 'store', cause: refusal },
        'Redis refuses messages of the other gateways: this one polls for what they have revoked and restricted, once a second',
      );
  }

  beat(_roundTripMs: number, clockAheadMs: number): void {
    const farApart = Math.abs(clockAheadMs) > FAR_APART_MS;
    if (farApart === this.#farApart) return;
    this.#farApart = farApart;
    const line = { type: 'store', clockAheadMs: Math.round(clockAheadMs) };
    if (farApart)
      this.#log.warn(line, 'the clocks of Redis and this gateway are far apart: one of them is wrong');
    else this.#log.info(line, 'the clocks of Redis and this gateway agree again');
  }
}

/** Logs the beginning and the end of each episode, and nothing for a request. */
export class OverloadLog implements OverloadListener {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  began(delayMs: number): void {
    const line = { type: 'overload', delayMs: Math.round(delayMs) };
    this.#log.error(line, 'more requests come than this gateway can serve: it answers some with 503');
  }

  ended(lastedMs: number, refused: number): void {
    const line = { type: 'overload', lastedMs: Math.round(lastedMs), refused };
    this.#log.info(line, 'the gateway serves all requests again');
  }
}

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

/** Logs reloads: one line per event, a refused file with all its errors. */
export class ReloadLog implements Partial<ReloadListener> {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  warned(warnings: readonly string[]): void {
    for (const warning of warnings)
      this.#log.warn({ type: 'reload', warning }, 'the configuration has a warning');
  }

  applied({ generation, hash, needsRestart, changes }: ReplacedEvent): void {
    const line = { type: 'reload', generation, hash };
    this.#log.info({ ...line, changes }, 'the new configuration is in use');
    if (needsRestart.length > 0)
      this.#log.warn({ ...line, keys: needsRestart }, 'these changes take effect after a restart');
  }

  waiting({ generation, hash }: ConfigEvent): void {
    this.#log.warn(
      { type: 'reload', generation, hash },
      'the new configuration is valid but waits for the keys of its identity provider; the current one stays in use',
    );
  }

  refused(errors: readonly string[]): void {
    this.#log.error(
      { type: 'reload', errors },
      'the new configuration has errors; the current one stays in use',
    );
  }

  unchanged(): void {
    this.#log.info({ type: 'reload' }, 'the configuration is unchanged');
  }

  unwatched(cause: unknown): void {
    this.#log.warn(
      { type: 'reload', cause: errorText(cause) },
      'cannot watch the configuration files; polling them every few seconds',
    );
  }
}
