import type { Claims, Clock, Fact, Facts, FactTopic, TimerClock } from '../../core/index.ts';
import { finishedWithin, inNextTurn, RecentMap } from '../../core/index.ts';
import { type Logger, OncePerMinute } from '../../observe/index.ts';
import type { Replication, ThreadPart } from '../runtime/index.ts';
import type { Link } from './link.ts';

/** More names than are claimed before the first of them expires. Beyond it, the oldest claim is forgotten. */
const MAX_CLAIMED = 100_000;
/** How long a response waits until all threads know what it confirms. */
const KNOWN_MS = 1_000;

/** How long a thread waits for the others, and what it does after that. */
interface Patience {
  readonly clock: TimerClock;
  /** Called for each response that is sent although a thread may not know yet. */
  readonly late: () => void;
}

/** The facts that one thread holds, by topic. */
class Topics {
  readonly #holders = new Map<string, FactTopic>();

  set(topic: string, holder: FactTopic): void {
    this.#holders.set(topic, holder);
  }

  learn({ name, ...fact }: Fact): void {
    this.#holders.get(topicOf(name))?.learn({ ...fact, name: name.slice(name.indexOf(':') + 1) });
  }

  everything(topic: string): Fact[] {
    return [...(this.#holders.get(topic)?.everything() ?? [])];
  }

  /** Whether facts with this name stay in the process. */
  isOfProcess(name: string): boolean {
    return this.#holders.get(topicOf(name))?.isOfProcess === true;
  }
}

/**
 * The main thread's role in the exchange of facts: it passes on whatever a thread learns to all others and to other processes,
 * and what those post, to all threads. It keeps no facts: its own gateway knows them all, and provides them to workers that start
 * later.
 */
export class FactsHub implements ThreadPart {
  readonly isMain = true;
  readonly replicaId: string;
  readonly #patience: Patience;
  readonly #topics = new Topics();
  readonly #links = new Set<Link>();
  /** Workers that have requested what the others know. Before that, a worker serves nobody, and so is not waited for. */
  readonly #informed = new Set<Link>();
  readonly #claimed = new RecentMap<number>(MAX_CLAIMED);
  /** Facts received from other processes in this turn of the event loop. */
  #told: Fact[] = [];
  #beyond: Replication | null = null;

  constructor(replicaId: string, patience: Patience) {
    this.replicaId = replicaId;
    this.#patience = patience;
  }

  join(beyond: Replication | null): Replication {
    this.#beyond = beyond;
    const facts: Facts = {
      get outgoing() {
        return beyond?.facts.outgoing ?? 0;
      },
      join: (topic, holder) => this.#join(topic, holder),
      post: fact => this.#pass(fact, null),
      withdraw: (name, value) => beyond?.facts.withdraw(name, value),
    };
    const claims: Claims = { claim: (name, forMs) => this.#claim(name, forMs) };
    return { facts, claims, feed: exceeded => beyond?.feed(exceeded) ?? null };
  }

  allKnow(): Promise<void> {
    return waitFor(this.#othersKnow(null), this.#patience);
  }

  /** Adds a worker to the exchange, until it is disconnected. */
  connect(link: Link): void {
    this.#links.add(link);
    link.on('facts', facts => {
      for (const fact of facts) {
        this.#topics.learn(fact);
        this.#pass(fact, link);
      }
    });
    link.on('factsWanted', topic => {
      this.#informed.add(link);
      link.post('facts', this.#topics.everything(topic));
    });
    link.answer('factsKnown', () => this.#othersKnow(link));
    link.on('withdrawal', ({ name, value }) => this.#beyond?.facts.withdraw(name, value));
    link.answer('claim', ({ name, forMs }) => this.#claim(name, forMs));
  }

  disconnect(link: Link): void {
    this.#links.delete(link);
    this.#informed.delete(link);
  }

  #join(topic: string, holder: FactTopic): void {
    this.#topics.set(topic, holder);
    if (holder.isOfProcess === true) return;
    this.#beyond?.facts.join(topic, {
      learn: fact => {
        holder.learn(fact);
        if (this.#told.push({ ...fact, name: `${topic}:${fact.name}` }) === 1) inNextTurn(() => this.#tell());
      },
      everything: () => holder.everything(),
    });
  }

  /** Passes on what other processes have posted to all threads; there may be thousands of facts at once. */
  #tell(): void {
    if (this.#told.length === 0) return;
    for (const link of this.#links) link.post('facts', this.#told);
    this.#told = [];
  }

  #pass(fact: Fact, from: Link | null): void {
    for (const link of this.#links) if (link !== from) link.post('facts', [fact]);
    if (!this.#topics.isOfProcess(fact.name)) this.#beyond?.facts.post(fact);
  }

  /** Messages arrive in order, so a worker that answers has received all earlier ones. One that has ended serves nobody. */
  async #othersKnow(asking: Link | null): Promise<null> {
    this.#tell();
    const others = [...this.#informed].filter(link => link !== asking);
    await Promise.allSettled(others.map(link => link.ask('factsKnown', null)));
    return null;
  }

  async #claim(name: string, forMs: number): Promise<boolean> {
    const nowMs = this.#patience.clock.monotonicMs();
    if ((this.#claimed.get(name) ?? 0) > nowMs) return false;
    this.#claimed.set(name, nowMs + forMs);
    return this.#beyond === null || this.#beyond.claims.claim(name, forMs);
  }
}

/** A worker's role: it sends what it learns to the main thread at once, and receives from it what the others learn. */
export class LinkedFacts implements ThreadPart {
  readonly isMain = false;
  readonly replicaId: string;
  readonly #link: Link;
  readonly #patience: Patience;
  readonly #topics = new Topics();

  constructor(replicaId: string, link: Link, patience: Patience) {
    this.replicaId = replicaId;
    this.#link = link;
    this.#patience = patience;
    link.on('facts', facts => {
      for (const fact of facts) this.#topics.learn(fact);
    });
    link.answer('factsKnown', async () => null);
  }

  allKnow(): Promise<void> {
    return waitFor(this.#link.ask('factsKnown', null), this.#patience);
  }

  /** Offences are sent to Redis from here: a message to the main thread costs no less. */
  join(beyond: Replication | null): Replication {
    const link = this.#link;
    const facts: Facts = {
      outgoing: 0,
      join: (topic, holder) => {
        this.#topics.set(topic, holder);
        link.post('factsWanted', topic);
      },
      post: fact => link.post('facts', [fact]),
      withdraw: (name, value) => link.post('withdrawal', { name, value }),
    };
    const claims: Claims = { claim: (name, forMs) => link.ask('claim', { name, forMs }) };
    return { facts, claims, feed: exceeded => beyond?.feed(exceeded) ?? null };
  }
}

/** Logs once a minute that responses were sent before all workers knew: while a worker hangs, every sign-out is one. */
export function lateLog(log: Logger, clock: Clock): () => void {
  const counts = new OncePerMinute(clock);
  return () => {
    const answers = counts.count('late');
    if (answers > 0)
      log.warn(
        { type: 'worker', answers, waitedMs: KNOWN_MS },
        'a worker hangs: answers were sent before all workers had applied them',
      );
  };
}

async function waitFor(known: Promise<null>, { clock, late }: Patience): Promise<void> {
  if (!(await finishedWithin(KNOWN_MS, known, clock))) late();
}

function topicOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}
