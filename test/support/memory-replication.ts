import { randomBytes } from 'node:crypto';
import {
  type Claims,
  type Clock,
  type Fact,
  type Facts,
  type FactTopic,
  systemClock,
} from '../../src/core/index.ts';
import {
  EventCounter,
  type OffenceFeed,
  type OffenceRule,
  type OffencesExceeded,
  type Restricted,
} from '../../src/limits/index.ts';
import type { Replication, ThreadPart } from '../../src/runtime/index.ts';

const ADD_UP_MS = 250;

interface Posted {
  readonly value: number;
  readonly untilMs: number;
}

/** Lets gateways of one process inform each other without Redis: all that are handed a `thread()` of one `MemoryReplication`. */
export class MemoryReplication {
  readonly #clock: Clock;
  readonly #posted = new Map<string, Posted>();
  readonly #holders = new Map<string, FactTopic[]>();
  /** The offences that all gateways have seen together, by reason and period. */
  readonly #counters = new Map<string, EventCounter>();
  readonly #claimed = new Map<string, number>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** The names of the facts that hold. */
  get names(): readonly string[] {
    return [...this.#posted.keys()].filter(name => topicOf(name) !== 'met');
  }

  /** The part of one gateway. */
  thread(): ThreadPart {
    return { isMain: true, replicaId: 'none', join: () => this.#replication() };
  }

  #replication(): Replication {
    const facts: Facts = {
      outgoing: 0,
      join: (topic, holder) => this.#join(topic, holder),
      post: fact => this.#post(fact),
      withdraw: (name, value) => this.#withdraw(name, value),
    };
    const claims: Claims = { claim: async (name, forMs) => this.#claim(name, forMs) };
    return { facts, claims, feed: exceeded => this.#feed(exceeded) };
  }

  #join(topic: string, holder: FactTopic): void {
    const holders = this.#holders.get(topic) ?? [];
    this.#holders.set(topic, [...holders, holder]);
    for (const name of this.#posted.keys()) if (topicOf(name) === topic) this.#tell(holder, name);
  }

  #post({ name, value, forMs }: Fact): void {
    const untilMs = this.#clock.monotonicMs() + forMs;
    const before = this.#posted.get(name);
    const isNews =
      before === undefined || value > before.value || (value === before.value && untilMs > before.untilMs);
    if (forMs <= 0 || !isNews) return;
    this.#posted.set(name, { value, untilMs });
    for (const holder of this.#holders.get(topicOf(name)) ?? []) this.#tell(holder, name);
  }

  /** Tells it in a turn of its own: a gateway never learns of something while it decides. */
  #tell(holder: FactTopic, name: string): void {
    setImmediate(() => {
      const posted = this.#posted.get(name);
      if (posted === undefined) return;
      const forMs = Math.floor(posted.untilMs - this.#clock.monotonicMs());
      if (forMs > 0) holder.learn({ name: name.slice(name.indexOf(':') + 1), value: posted.value, forMs });
    });
  }

  #withdraw(name: string, value: number): void {
    const before = this.#posted.get(name);
    if (before !== undefined && before.value <= value) this.#posted.delete(name);
  }

  #claim(name: string, forMs: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    if ((this.#claimed.get(name) ?? 0) > nowMs) return false;
    this.#claimed.set(name, nowMs + forMs);
    return true;
  }

  /** Adds offences up some times a second, as the feed to Redis does. */
  #feed(exceeded: OffencesExceeded): OffenceFeed {
    const pending: { readonly offence: Restricted; readonly rule: OffenceRule }[] = [];
    const addUp = () => {
      for (let next = pending.shift(); next !== undefined; next = pending.shift())
        if (this.#counterOf(next.offence, next.rule).count(next.offence.key, next.offence.webhook) > 0)
          exceeded(next.offence, next.rule);
    };
    let timer: NodeJS.Timeout | undefined;
    return {
      left: 0,
      note: (offence, rule) => void pending.push({ offence, rule }),
      forget: (forgotten, rule) => {
        const { key, webhook, reason } = forgotten;
        const others = pending.filter(
          ({ offence }) => offence.key !== key || offence.webhook !== webhook || offence.reason !== reason,
        );
        pending.splice(0, pending.length, ...others);
        this.#counterOf(forgotten, rule).forget(key, webhook);
      },
      start: () => {
        timer = setInterval(addUp, ADD_UP_MS);
      },
      stop: () => clearInterval(timer),
    };
  }

  #counterOf({ reason }: Restricted, { quota }: OffenceRule): EventCounter {
    const name = `${reason} ${quota.periodMs}`;
    const counter =
      this.#counters.get(name) ?? new EventCounter({ clock: this.#clock, randomBytes, maxKeys: 1_000 });
    this.#counters.set(name, counter);
    counter.use(quota);
    return counter;
  }
}

function topicOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}
