/** Something that all gateways of a service should know, such as that a client is restricted. */
export interface Fact {
  /** Contains no secret and identifies no client. Beyond the process it is `topic:name`. */
  readonly name: string;
  /** A whole number, 0 or more. Of two values of one name the larger wins; of equal ones, the one that lasts longer. */
  readonly value: number;
  readonly forMs: number;
  /** Identifies the client to the threads of this process. Other processes only get the name of the fact. */
  readonly whom?: FactSubject | undefined;
}

/** A client, and the webhook where it is restricted; '' if none. */
export interface FactSubject {
  readonly key: string;
  readonly webhook: string;
  /** When the fact ends, on the clock that the threads share; if omitted, `forMs` after it is learnt. */
  readonly untilMs?: number;
}

/** Holds what one thread knows about one topic. */
export interface Holder<Item> {
  /** Applies what another thread or gateway posted. It may be news that this thread has posted itself. */
  learn(item: Item): void;
  /** Yields what holds now, for threads and gateways that start later or have lost it. */
  everything(): Iterable<Item>;
}

/**
 * Carries facts beyond this process: to other gateways, or across a restart. Each gateway learns what any of them posts, in no
 * particular order; one that starts later learns everything still valid. Nothing waits for delivery.
 */
export interface Facts {
  /**
   * Passes all facts of a topic to `holder`, including those posted before. The holder learns names without the topic, and yields
   * them with it.
   */
  join(topic: string, holder: Holder<Fact>): void;
  post(fact: Fact): void;
  /**
   * Withdraws a fact made superfluous by another one, unless a larger value of it is already known. Post the other fact first.
   * Gateways that have learnt the withdrawn fact keep it: this only bounds what is stored for gateways that start later.
   */
  withdraw(name: string, value: number): void;
}

/** Lets several gateways agree on which one does something that must be done once. */
export interface Claims {
  /** Whether no gateway has claimed this name within the last `forMs`. */
  claim(name: string, forMs: number): Promise<boolean>;
}
