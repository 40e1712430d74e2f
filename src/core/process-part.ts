import type { TableMemory } from './collections.ts';
import type { Fact, Facts, Holder } from './facts.ts';
import type { NewPermits } from './permits.ts';
import type { NewRate } from './rates.ts';

/** Messages among threads about one subject. Each thread learns what any of them posts, in no particular order. */
export interface Topic<Item> {
  /** Passes to `holder` what others post, and in a worker what the main thread knows already. Each thread calls it once. */
  join(holder: Holder<Item>): void;
  /** Posts an item to all others. Copied as by `structuredClone`. */
  post(item: Item): void;
}

/** Who tells each other: the threads of this process, or all gateways of the service. */
export type TopicScope = 'process' | 'service';

/** A topic of all gateways of the service. */
export interface ServiceTopic extends Topic<Fact> {
  /** As `Facts.withdraw`. */
  withdraw(name: string, value: number): void;
}

/**
 * What one thread shares with the others of its process. All threads make the same parts, with the same names: the main thread
 * first. A process without threads has `alone`.
 */
export interface ProcessPart {
  /** Identifies the process in logs and in Redis, where its threads count as one gateway. */
  readonly id: string;
  /** Whether this is the main thread. Only that one reports what all threads know, and informs other processes. */
  readonly isMain: boolean;
  readonly memory: TableMemory;
  /** Counts what is in flight, up to caps. */
  readonly permits: NewPermits;
  /** Counts what happened recently. */
  readonly rates: NewRate;
  /** Returns the topic with this name among the threads of this process. The caller knows the type of its items. */
  topic<Item>(name: string, scope: 'process'): Topic<Item>;
  /** Returns the topic among all gateways of the service, as far as `carry` reaches. */
  topic(name: string, scope: 'service'): ServiceTopic;
  /**
   * Has topics of the service carried further, for example by Redis. Only in the main thread, before the topics are joined: so the
   * code that joins a topic need not know what carries it.
   */
  carry(facts: Facts): void;
  /**
   * Returns a function that asks the main thread, where it is `answer` itself. A worker does not use its own `answer`. Rejects if
   * `answer` rejects. Question and answer stand in one place, so that their types agree: all threads run the same code.
   */
  question<Asked, Answer>(
    name: string,
    answer: (asked: Asked) => Promise<Answer>,
  ): (asked: Asked) => Promise<Answer>;
  /**
   * Resolves once all threads know what this one has posted so far. If a thread hangs, resolves after a second anyway: a response
   * must not wait for it.
   */
  allKnow(): Promise<void>;
}
