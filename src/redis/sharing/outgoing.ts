import type { Clock, Fact } from '../../core/index.ts';

type Message =
  | (Fact & {
      readonly kind: 'fact';
      readonly untilMs: number;
      /** Whether no message before it may still be at Redis. */
      readonly isFirst: boolean;
    })
  | { readonly kind: 'withdrawal'; readonly name: string; readonly value: number };

/**
 * A hundred years: cuts facts that hold longer, such as a mark for a token that never expires. Redis fails the whole command for
 * an end that its clock never reaches.
 */
const MAX_MS = 100 * 365 * 86_400_000;

/** Holds what Redis has yet to be told, in order and once for each name. */
export class Outgoing {
  readonly #clock: Clock;
  readonly #messages = new Map<string, Message>();
  /** The portion that was sent last, until Redis says that it has it. */
  #portion: ReadonlyMap<string, Message> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#messages.size;
  }

  put(fact: Fact): void {
    const untilMs = this.#clock.monotonicMs() + Math.min(fact.forMs, MAX_MS);
    const before = this.#messages.get(fact.name);
    if (before?.kind === 'fact') {
      if (before.value > fact.value) return;
      if (before.value === fact.value && before.untilMs >= untilMs) return;
    }
    const isFirst =
      !this.#portion.has(fact.name) && before?.kind !== 'withdrawal' && before?.isFirst !== false;
    this.#messages.set(fact.name, { ...fact, kind: 'fact', untilMs, isFirst });
  }

  /**
   * Takes a fact back. Nothing is said of one that was to be sent: during an outage, what gathers here is bounded by what the
   * topics hold. Redis may keep an older value of it, until that expires.
   */
  withdraw(name: string, value: number): void {
    const before = this.#messages.get(name);
    this.#messages.delete(name);
    const isUnsent = before?.kind === 'fact' && before.isFirst && !this.#portion.has(name);
    // At the end: after the fact that makes this one superfluous.
    if (!isUnsent) this.#messages.set(name, { kind: 'withdrawal', name, value });
  }

  /**
   * Takes a portion for one command: for each message its name, value and duration in milliseconds, 0 for a withdrawal. Its
   * messages stay until `sent`.
   */
  nextPortion(max: number): (string | number)[] {
    this.#portion = new Map(firstOf(this.#messages, max));
    const nowMs = this.#clock.monotonicMs();
    return [...this.#portion.values()].flatMap(message => {
      const forMs = message.kind === 'fact' ? Math.floor(message.untilMs - nowMs) : 0;
      return message.kind === 'withdrawal' || forMs >= 1 ? [message.name, message.value, forMs] : [];
    });
  }

  /** Redis has the last portion. */
  sent(): void {
    for (const [name, message] of this.#portion) {
      // Unless something newer was said in between.
      if (this.#messages.get(name) === message) this.#messages.delete(name);
    }
    this.#portion = new Map();
  }
}

function* firstOf<T>(items: Iterable<T>, max: number): Generator<T> {
  let count = 0;
  for (const item of items) {
    if (count++ >= max) return;
    yield item;
  }
}
