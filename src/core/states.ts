import type { ProcessPart, Topic } from './process-part.ts';

/** `null`: the state was removed. */
type Told<State> = readonly [key: string, state: State | null];

/** The latest states by key, which the main thread determines for all threads. */
export class States<State> {
  readonly #topic: Topic<Told<State>>;
  readonly #states = new Map<string, State>();
  readonly #followers = new Map<string, Set<(state: State | null) => void>>();

  /** @param name identifies the states to the other threads */
  constructor(part: Pick<ProcessPart, 'topic'>, name: string) {
    this.#topic = part.topic(name, 'process');
    this.#topic.join({ learn: told => this.#take(told), everything: () => this.#states });
  }

  /** Sets the current state; `null` removes it. For the main thread. */
  tell(key: string, state: State | null): void {
    this.#take([key, state]);
    this.#topic.post([key, state]);
  }

  /** Passes on the state, immediately if there is one, and each change. Returns a function that ends this. */
  follow(key: string, learn: (state: State | null) => void): () => void {
    const all = this.#followers.get(key) ?? new Set();
    this.#followers.set(key, all.add(learn));
    const state = this.#states.get(key);
    if (state !== undefined) learn(state);
    return () => {
      all.delete(learn);
      if (all.size === 0) this.#followers.delete(key);
    };
  }

  #take([key, state]: Told<State>): void {
    if (state === null) this.#states.delete(key);
    else this.#states.set(key, state);
    for (const learn of [...(this.#followers.get(key) ?? [])]) learn(state);
  }
}
