/** Something that all gateways of a service should know, such as that a client is restricted. */
export interface Fact {
  /** `topic:name`. The name holds no secret and identifies no client. */
  readonly name: string;
  /** A whole number, 0 or more. Of two values of one name the larger wins; of equal ones, the one that lasts longer. */
  readonly value: number;
  readonly forMs: number;
  /** Names the client to the threads of this process. Other processes are told the name of the fact alone. */
  readonly whom?: FactSubject | undefined;
}

/** A client, and the webhook that it is about; '' if it is about none. */
export interface FactSubject {
  readonly key: string;
  readonly webhook: string;
  /** When the fact ends, on the clock that the threads share; if left out, `forMs` after it is learnt. */
  readonly untilMs?: number;
}

/** Keeps what this gateway knows about one topic. */
export interface FactTopic {
  /** Whether its facts stay among the threads of this process. Default false. */
  readonly isOfProcess?: boolean;
  /** Applies a fact, possibly one that this gateway posted. `name` is without the topic. */
  learn(fact: Fact): void;
  /** Lists all known facts with their full names, to post them again where they were lost. */
  everything(): Iterable<Fact>;
}

/**
 * Shares facts between gateways, whatever carries them. Each gateway learns what any of them posts, in no certain order; one that
 * starts later learns what still holds. Nothing waits for it.
 */
export interface Facts {
  /** How many facts and withdrawals have not been sent to the other gateways yet. */
  readonly outgoing: number;
  /** Hands all facts of a topic to `holder`, those posted before included. */
  join(topic: string, holder: FactTopic): void;
  post(fact: Fact): void;
  /**
   * Takes back a fact that another one has made superfluous, unless a larger value of it is known by now. Post the other one first.
   * Gateways that have learnt it keep it. This only bounds what is stored for gateways that start later.
   */
  withdraw(name: string, value: number): void;
}

/** Lets several gateways agree which one of them does something that must be done once. */
export interface Claims {
  /** Whether no gateway has claimed this name in the last `forMs`. */
  claim(name: string, forMs: number): Promise<boolean>;
}

/** The latest state of things, each under a key: one thread of the process finds out and tells the others. */
export interface ToldStates<State> {
  readonly role: 'tells';
  /** Tells the state that holds from now on; `null` if it has ended. It is copied as `structuredClone` copies. */
  tell(key: string, state: State | null): void;
}

/** The latest state of things, in a thread that another one tells. */
export interface LearntStates<State> {
  readonly role: 'learns';
  /** Hands over the state, at once if there is one, and each change. Returns what ends that. */
  follow(key: string, learn: (state: State | null) => void): () => void;
}

/** The part of a thread, of either kind. */
export type SharedStates<State> = ToldStates<State> | LearntStates<State>;
