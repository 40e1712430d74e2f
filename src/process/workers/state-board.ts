import type { LearntStates, PublishedStates } from '../../core/index.ts';
import { Followers, type Lookups, type SharedLookups } from '../../upstream/index.ts';
import type { LearntIssuers, PublishedIssuers } from '../runtime/index.ts';
import type { Link } from './link.ts';
import type { StateTopics, ToldState } from './messages.ts';

/**
 * Publishes the latest states that the main thread determines to all workers, including those that start later, and handles their
 * requests.
 */
export class StateBoard {
  readonly lookups: SharedLookups;
  readonly #states = new Map<string, ToldState>();
  readonly #links = new Set<Link>();
  /** The functions that fetch the keys of each provider. */
  readonly #refreshes = new Map<string, () => Promise<boolean>>();

  constructor(lookups: SharedLookups) {
    this.lookups = lookups;
    lookups.notifyOthers = key => {
      for (const link of this.#links) link.post('lookedUp', key);
    };
  }

  /** Publishes to a worker from now on. */
  connect(link: Link): void {
    this.#links.add(link);
    for (const state of this.#states.values()) link.post('state', state);
    link.answer('lookUp', this.lookups.ask);
    link.answer('refreshKeys', key => this.#refreshes.get(key)?.() ?? Promise.resolve(false));
  }

  disconnect(link: Link): void {
    this.#links.delete(link);
  }

  topic<Topic extends keyof StateTopics>(topic: Topic): PublishedStates<StateTopics[Topic]> {
    return { role: 'tells', tell: (key, state) => this.#tell({ topic, key, state }) };
  }

  get issuers(): PublishedIssuers {
    const issuers = this.topic('issuers');
    return {
      ...issuers,
      serve: (key, refresh) => {
        this.#refreshes.set(key, refresh);
        return () => {
          // Another one with the same settings may have replaced it meanwhile.
          if (this.#refreshes.get(key) !== refresh) return;
          this.#refreshes.delete(key);
          issuers.tell(key, null);
        };
      },
    };
  }

  #tell(told: ToldState): void {
    const name = nameOf(told);
    if (told.state === null) this.#states.delete(name);
    else this.#states.set(name, told);
    for (const link of this.#links) link.post('state', told);
  }
}

/** The states that the main thread publishes to a worker. */
export class LearntBoard {
  readonly #link: Link;
  readonly #states = new Map<string, unknown>();
  readonly #learn = new Map<string, Set<(state: unknown) => void>>();
  readonly #followers = new Followers();

  constructor(link: Link) {
    this.#link = link;
    link.on('state', told => this.#take(told));
    link.on('lookedUp', key => this.#followers.tell(key));
  }

  topic<Topic extends keyof StateTopics>(topic: Topic): LearntStates<StateTopics[Topic]> {
    type State = StateTopics[Topic] | null;
    return {
      role: 'learns',
      follow: (key, learn) => {
        const name = nameOf({ topic, key });
        // States under a topic have its type.
        const take = (state: unknown) => learn(state as State);
        const all = this.#learn.get(name) ?? new Set();
        this.#learn.set(name, all.add(take));
        if (this.#states.has(name)) take(this.#states.get(name));
        return () => {
          all.delete(take);
          if (all.size === 0) this.#learn.delete(name);
        };
      },
    };
  }

  get issuers(): LearntIssuers {
    const refresh = (key: string) => this.#link.ask('refreshKeys', key).catch(() => false);
    return { ...this.topic('issuers'), refresh };
  }

  get lookups(): Lookups {
    return { ask: question => this.#link.ask('lookUp', question), follow: this.#followers.follow };
  }

  #take(told: ToldState): void {
    const name = nameOf(told);
    if (told.state === null) this.#states.delete(name);
    else this.#states.set(name, told.state);
    for (const learn of this.#learn.get(name) ?? []) learn(told.state);
  }
}

function nameOf({ topic, key }: Pick<ToldState, 'topic' | 'key'>): string {
  return `${topic} ${key}`;
}
