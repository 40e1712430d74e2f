/** Something that all gateways of a service should know, such as that a client is restricted. */
export interface Fact {
  /** `topic:name`. The name contains no secret and identifies no client. */
  readonly name: string;
  /** A whole number, 0 or more. Of two values of one name the larger wins; of equal ones, the one that lasts longer. */
  readonly value: number;
  readonly forMs: number;
  /** Identifies the client to the threads of this process. Other processes only get the name of the fact. */
  readonly whom?: FactSubject | undefined;
}

/** A client, and the webhook concerned; '' if none. */
export interface FactSubject {
  readonly key: string;
  readonly webhook: string;
  /** When the fact ends, on the clock that the threads share; if omitted, `forMs` after it is learnt. */
  readonly untilMs?: number;
}

/** Holds what this gateway knows about one topic. */
export interface FactTopic {
  /** Whether its facts are shared only among the threads of this process. Default false. */
  readonly isOfProcess?: boolean;
  /** Applies a fact, possibly one that this gateway posted. `name` is without the topic. */
  learn(fact: Fact): void;
  /** Yields all known facts with their full names, to post them again if they were lost. */
  everything(): Iterable<Fact>;
}

/**
 * Shares facts between gateways by any means. Each gateway learns what any of them posts, in no particular order; one that starts
 * later learns everything still valid. Nothing waits for it.
 */
export interface Facts {
  /** Facts and withdrawals not yet sent to the other gateways. */
  readonly outgoing: number;
  /** Passes all facts of a topic to `holder`, including those posted before. */
  join(topic: string, holder: FactTopic): void;
  post(fact: Fact): void;
  /**
   * Withdraws a fact made superfluous by another one, unless a larger value of it is known by now. Post the other one first.
   * Gateways that have learnt it keep it. This only bounds what is stored for gateways that start later.
   */
  withdraw(name: string, value: number): void;
}

/** Lets several gateways agree on which one does something that must be done once. */
export interface Claims {
  /** Whether no gateway has claimed this name within the last `forMs`. */
  claim(name: string, forMs: number): Promise<boolean>;
}

/** The latest states by key: one thread of the process determines them and informs the others. */
export interface PublishedStates<State> {
  readonly role: 'tells';
  /** Sets the current state; `null` if there is none any more. Copied as by `structuredClone`. */
  tell(key: string, state: State | null): void;
}

/** The latest states, in a thread that is informed by another one. */
export interface LearntStates<State> {
  readonly role: 'learns';
  /** Passes on the state, immediately if there is one, and each change. Returns a function that ends this. */
  follow(key: string, learn: (state: State | null) => void): () => void;
}

/** A thread's view, of either kind. */
export type SharedStates<State> = PublishedStates<State> | LearntStates<State>;
