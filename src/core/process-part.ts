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
  /** Returns what the threads of this process tell each other under this name. The caller knows the type of its items. */
  topic<Item>(name: string, scope: 'process'): Topic<Item>;
  /** Returns what all gateways of the service tell each other, as far as `carry` reaches. */
  topic(name: string, scope: 'service'): ServiceTopic;
  /**
   * Has topics of the service carried further, such as by Redis. For the main thread, before they are joined: so those who join a
   * topic need not know who carries it, nor how many do.
   */
  carry(facts: Facts): void;
  /**
   * Returns a function that asks the main thread: there it is `answer` itself. In a worker `answer` is not used, and the function
   * rejects if `answer` does. Question and answer stand in one place, so that their types agree: all threads run the same code.
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
