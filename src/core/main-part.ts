import { ownMemory, type TableMemory } from './collections.ts';
import type { Fact, Facts, Holder } from './facts.ts';
import { type NewPermits, ownPermits } from './permits.ts';
import type { ProcessPart, ServiceTopic, Topic, TopicScope } from './process-part.ts';
import { type NewRate, ownRates } from './rates.ts';
import { finishedWithin, inNextTurn, type RandomBytes, randomName, type TimerClock } from './system.ts';

/** How long a response waits until all threads know what it confirms. */
export const KNOWN_MS = 1_000;

/** How a thread counts, and how it waits for others. */
export interface PartOptions extends Pick<ProcessPart, 'id' | 'memory' | 'permits' | 'rates'> {
  readonly clock: TimerClock;
  /** Called for each response that is sent although a thread may not know yet. */
  readonly late: () => void;
}

/** What the main thread and workers have in common. */
export abstract class ThreadPart {
  readonly id: string;
  readonly memory: TableMemory;
  readonly permits: NewPermits;
  readonly rates: NewRate;
  readonly #clock: TimerClock;
  readonly #late: () => void;

  constructor({ id, memory, permits, rates, clock, late }: PartOptions) {
    this.id = id;
    this.memory = memory;
    this.permits = permits;
    this.rates = rates;
    this.#clock = clock;
    this.#late = late;
  }

  async allKnow(): Promise<void> {
    if (!(await finishedWithin(KNOWN_MS, this.othersKnow(), this.#clock))) this.#late();
  }

  /** Resolves once the other threads have learnt what this one has posted. */
  abstract othersKnow(): Promise<unknown>;
}

/** Another thread, as the main thread sees it. Messages to it arrive in order. */
export interface Peer {
  tell(topic: string, items: readonly unknown[]): void;
  /** Resolves once it has learnt everything that it was told before. */
  knows(): Promise<unknown>;
}

interface JoinedTopic {
  readonly holder: Holder<unknown>;
  /** The means that carry its facts beyond the process. */
  readonly carriers: readonly Facts[];
}

/**
 * The part of the main thread, or of the only one. It passes on what a thread posts to all other threads, and in topics of the
 * service also to other processes, whose posts it passes to all threads. It stores nothing of that: its own gateway knows it, and
 * provides it to workers that start later.
 */
export class MainPart extends ThreadPart implements ProcessPart {
  readonly isMain = true;
  readonly #topics = new Map<string, JoinedTopic>();
  readonly #carriers: Facts[] = [];
  readonly #answers = new Map<string, (asked: unknown) => Promise<unknown>>();
  readonly #peers = new Set<Peer>();
  /** Workers that have requested what the others know. Until then, a worker serves no clients, so nothing waits for it. */
  readonly #informed = new Set<Peer>();
  /** Facts learnt from outside the process in this turn of the event loop. */
  #told = new Map<string, Fact[]>();

  topic<Item>(name: string, scope: TopicScope): Topic<Item> & Pick<ServiceTopic, 'withdraw'> {
    const carriers = scope === 'service' ? this.#carriers : [];
    return {
      join: holder => {
        this.#topics.set(name, { holder, carriers });
        for (const carrier of carriers)
          carrier.join(name, {
            learn: fact => this.#learnFrom(carrier, name, fact),
            *everything() {
              // Only facts are posted under topics of the service.
              for (const fact of holder.everything()) yield fullFact(name, fact as Fact);
            },
          });
      },
      post: item => this.#pass(name, item, null),
      withdraw: (fact, value) => this.withdraw(name, fact, value),
    };
  }

  carry(facts: Facts): void {
    this.#carriers.push(facts);
  }

  question<Asked, Answer>(
    name: string,
    answer: (asked: Asked) => Promise<Answer>,
  ): (asked: Asked) => Promise<Answer> {
    this.#answers.set(name, asked => answer(asked as Asked));
    return answer;
  }

  /** Adds a worker, until the returned function is called. */
  connect(peer: Peer): () => void {
    this.#peers.add(peer);
    return () => {
      this.#peers.delete(peer);
      this.#informed.delete(peer);
    };
  }

  /** Tells a worker what is known about a topic. */
  inform(peer: Peer, topic: string): void {
    this.#informed.add(peer);
    peer.tell(topic, [...(this.#topics.get(topic)?.holder.everything() ?? [])]);
  }

  take(from: Peer, topic: string, item: unknown): void {
    this.#topics.get(topic)?.holder.learn(item);
    this.#pass(topic, item, from);
  }

  withdraw(topic: string, name: string, value: number): void {
    for (const carrier of this.#carriers) carrier.withdraw(`${topic}:${name}`, value);
  }

  async answer(name: string, asked: unknown): Promise<unknown> {
    const answer = this.#answers.get(name);
    if (answer === undefined) throw new Error(`nobody answers "${name}"`);
    return answer(asked);
  }

  /** A worker that answers has received all earlier messages. One that has ended serves no clients. */
  async othersKnow(asking: Peer | null = null): Promise<void> {
    this.#tell();
    const others = [...this.#informed].filter(peer => peer !== asking);
    await Promise.allSettled(others.map(peer => peer.knows()));
  }

  #pass(topic: string, item: unknown, from: Peer | null): void {
    for (const peer of this.#peers) if (peer !== from) peer.tell(topic, [item]);
    for (const carrier of this.#topics.get(topic)?.carriers ?? [])
      carrier.post(fullFact(topic, item as Fact));
  }

  /** Takes facts that were posted outside the process. There may be thousands at once. */
  #learnFrom(from: Facts, topic: string, fact: Fact): void {
    this.#topics.get(topic)?.holder.learn(fact);
    for (const carrier of this.#carriers) if (carrier !== from) carrier.post(fullFact(topic, fact));
    if (this.#peers.size === 0) return;
    if (this.#told.size === 0) inNextTurn(() => this.#tell());
    const told = this.#told.get(topic);
    if (told === undefined) this.#told.set(topic, [fact]);
    else told.push(fact);
  }

  #tell(): void {
    const told = this.#told;
    this.#told = new Map();
    for (const [topic, facts] of told) for (const peer of this.#peers) peer.tell(topic, facts);
  }
}

/** Makes the part of a process without threads. `hashRoot`: as for `ownMemory`. */
export function alone(
  { clock, randomBytes }: { readonly clock: TimerClock; readonly randomBytes: RandomBytes },
  hashRoot?: Buffer,
): MainPart {
  return new MainPart({
    id: randomName(randomBytes),
    memory: ownMemory(randomBytes, hashRoot),
    permits: ownPermits,
    rates: ownRates,
    clock,
    late: () => {},
  });
}

function fullFact(topic: string, fact: Fact): Fact {
  return { ...fact, name: `${topic}:${fact.name}` };
}
