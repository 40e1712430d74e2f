/** The latest state of things, each under a key: one thread of the process finds out and tells the others. */
export interface ToldStates<State> {
  readonly role: 'tells';
  /** This is the state from now on; `null`: there is none any more. It is copied as `structuredClone` copies. */
  tell(key: string, state: State | null): void;
}

/** The same in a thread that learns from another one. */
export interface LearntStates<State> {
  readonly role: 'learns';
  /** Hands over the state, at once if there is one, and each change. Returns what ends that. */
  follow(key: string, learn: (state: State | null) => void): () => void;
}

/** The part of a thread, of either kind. */
export type SharedStates<State> = ToldStates<State> | LearntStates<State>;
